import { createHash } from 'crypto';
import { BaseModel } from './base';

export const hash = (text: string) => createHash('sha256').update(`workshop:${text}`).digest('hex');

export class User extends BaseModel {
  email!: string;
  password!: string;
  isAdmin!: boolean;

  static get tableName() {
    return 'users';
  }
}

export default User;
