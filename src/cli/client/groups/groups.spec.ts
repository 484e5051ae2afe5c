import fs from 'node:fs';
import { GROUPS } from './groups.ts';

const { paths } = JSON.parse(fs.readFileSync('openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, unknown>>;
};
/** Parameter names do not matter: `/events/{id}` and `/events/{}` are the same path. */
const anonymous = (path: string): string => path.replaceAll(/\{[^}]*\}/g, '{}');
const served = new Set(
  Object.entries(paths).flatMap(([path, verbs]) =>
    Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${anonymous(path)}`),
  ),
);

describe('groups of carillon-api', () => {
  it.each(
    Object.entries(GROUPS).flatMap(([group, { actions }]) =>
      Object.entries(actions).map(([method, action]): [string, typeof action] => [
        `${group} ${method}`,
        action,
      ]),
    ),
  )('%s calls an endpoint that exists', (_, { verb, path, id }) => {
    expect(served).toContain(`${verb} ${anonymous(path)}`);
    if (id === 'optional') expect(served).toContain(`${verb} ${anonymous(path)}/{}`);
    if (id === 'required') expect(path).toContain('{id}');
  });

  it('include every endpoint group of the API', () => {
    const specified = [
      'accounts',
      'applications',
      'calendars',
      'contacts',
      'delta',
      'drafts',
      'events',
      'files',
      'folders',
      'ip-addresses',
      'job-statuses',
      'labels',
      'messages',
      'neural',
      'outbox',
      'resources',
      'send',
      'send-rsvp',
      'threads',
      'webhooks',
    ];
    expect(specified.filter((name) => !(name in GROUPS))).toEqual([]);
  });
});
