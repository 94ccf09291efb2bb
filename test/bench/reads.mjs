// Owns how many keys are read from every LevelDB of this process: a number that no machine changes.
// Must not know what they are read for.
import { Level } from 'level';

/** Keys that LevelDB is asked for, or gives, while `work` runs. */
export async function countReads(work) {
  const { _get, _iterator, _keys } = Level.prototype;
  let keys = 0;
  const counted = (iterator, methods) => {
    for (const method of methods) {
      const original = iterator[method];
      iterator[method] = async function count(...args) {
        const found = await original.apply(this, args);
        keys += Array.isArray(found?.[0]) || method !== '_next' ? (found?.length ?? 0) : found === undefined ? 0 : 1;
        return found;
      };
    }
    return iterator;
  };
  Level.prototype._get = function get(...args) {
    keys += 1;
    return _get.apply(this, args);
  };
  Level.prototype._iterator = function iterator(...args) {
    return counted(_iterator.apply(this, args), ['_nextv', '_all']);
  };
  Level.prototype._keys = function keysOf(...args) {
    return counted(_keys.apply(this, args), ['_nextv', '_all']);
  };
  try {
    await work();
  } finally {
    Object.assign(Level.prototype, { _get, _iterator, _keys });
  }
  return keys;
}
