import type { CountedClient } from './compatibility-table.ts';
import { NODE_VERSIONS, nodeSdkVersion, type NodeCall, type NodeVersion } from './node-client.ts';
import { APPLICATION_CALLS } from '../node/application-calls.ts';
import { CALENDAR_CALLS } from '../node/calendar-calls.ts';
import { DATE_CALLS } from '../node/date-calls.ts';
import { MAIL_CALLS } from '../node/mail-calls.ts';

/** The calls that a version has, in the order in which they run. */
export function nodeCallsOf(version: NodeVersion): readonly NodeCall[] {
  return [...MAIL_CALLS, ...DATE_CALLS, ...CALENDAR_CALLS, ...APPLICATION_CALLS].filter(
    ({ versions = NODE_VERSIONS }) => versions.includes(version),
  );
}

/** The versions of the official Node client, for docs/compatibility.md. */
export function nodeClients(): CountedClient[] {
  return NODE_VERSIONS.map((version) => ({
    client: `Node ${version}`,
    version: nodeSdkVersion(version),
    source: 'npm: nylas',
    calls: nodeCallsOf(version),
  }));
}
