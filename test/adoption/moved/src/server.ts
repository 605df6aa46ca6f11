import { api } from './api';
import app from './app';

// reads the database, and tells of mistakes, before the first request
api.prepare().then(() => app.listen(Number(process.env.PORT || 3000)));
