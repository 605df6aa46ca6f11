/** Storage of uploads: folders and object stores: `koa-viewsets/storage`. */
export { FileSystemStorage, type FileSystemStorageOptions } from './file-system-storage.js'
export { type FlydriveDisk, FlydriveStorage, type FlydriveStorageOptions } from './flydrive-storage.js'
