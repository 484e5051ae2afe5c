import { MetadataDiscovery, type MetadataStorage } from '@mikro-orm/core';

/*
 * Every application of a test file has the same entities. Finding out what they look like takes the
 * ORM half a second of processor time, more than the rest of its start. So only the first ORM of a
 * file, or of a group of files, does it.
 */

const { prototype } = MetadataDiscovery;
// oxlint-disable-next-line typescript/unbound-method -- called with the right `this` below
const discover = prototype.discover;
let found: Promise<MetadataStorage> | undefined;

prototype.discover = function (this: MetadataDiscovery, preferTs) {
  found ??= discover.call(this, preferTs);
  return found;
};
