// An edit at the end of a manifest that says nothing new: with it or without it, no file is missing and none is too many.
import { crc32c, masked } from '../../../src/store/leveldb/bytes.js';

/** It names the previous log: none. */
const EDIT = Buffer.from([1, 9, 0]);

export function withHarmlessEdit(manifest: Buffer): Buffer {
  const header = Buffer.alloc(6);
  header.writeUInt32LE(masked(crc32c(EDIT, 0, EDIT.length)), 0);
  header.writeUInt16LE(EDIT.length - 1, 4);
  return Buffer.concat([manifest, header, EDIT]);
}
