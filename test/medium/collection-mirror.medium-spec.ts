import { randomUUID } from 'node:crypto';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { GoogleWorldFixture } from '../support/google-world.ts';
import { MicrosoftWorldFixture } from '../support/microsoft-world.ts';
import { describeCollections } from '../support/mirror/collection-suite.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import type { TestApp } from '../support/test-app.ts';

const newEmail = () => `user-${randomUUID()}@sandbox.test`;
/** Both worlds are calendars and contacts of the sandbox. */
const portsOf = ({ app }: TestApp) => {
  const { name, contacts } = app.get(ConnectorRegistry).require('sandbox');
  if (!contacts) throw new Error('there are no contacts');
  return { name, contacts };
};

describeCollections('Google', async (server) => {
  const { stub, calendar } = await GoogleWorldFixture.start(server);
  return {
    ...portsOf(server),
    calendar,
    addPerson: async () => ({ email: stub.addUser(newEmail()).email, settings: {} }),
    forgetChanges: ({ email }) => stub.calendars.all.get(email)?.expireSyncTokens(),
    stop: async () => {
      await stub.stop();
      expectDocumented(stub);
    },
  };
});

describeCollections('Microsoft', async (server) => {
  const { stub, calendar } = await MicrosoftWorldFixture.start(server);
  return {
    ...portsOf(server),
    calendar,
    addPerson: async () => {
      const email = newEmail();
      stub.addUser(email, { displayName: 'Test User' });
      return { email, settings: {} };
    },
    forgetChanges: () => stub.expireDeltaLinks(),
    writesFirst: true,
    stop: async () => {
      await stub.stop();
      expectDocumented(stub);
    },
  };
});
