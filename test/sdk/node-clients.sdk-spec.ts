import { startTestApp, type TestApp } from '../support/test-app.ts';
import { ClientWorld } from './support/client-world.ts';
import {
  loadNodeSdk,
  NODE_VERSIONS,
  type NodeCollection,
  type NodeContext,
  nodeSdkVersion,
  type NodeVersion,
} from './support/node-client.ts';
import { nodeCallsOf } from './support/node-clients.ts';
import { requestingMethods } from './support/node-methods.ts';
import { connectAccounts, type Values } from './support/recorded-client.ts';

/**
 * Runs every call of each version of the unchanged official Node client. No call sends a parameter
 * that the server does not know.
 */
describe.each(NODE_VERSIONS.map((version) => [nodeSdkVersion(version), version] as const))(
  'nylas@%s',
  (_, version) => {
    let server: TestApp;
    let world: ClientWorld;
    let context: NodeContext;

    beforeAll(async () => {
      server = await startTestApp({ NEURAL: 'true', STRICT_REQUESTS: 'true' });
      world = await ClientWorld.start();
      const values = await connectAccounts(server);
      Object.assign(values, await world.prepare(server, values), { url: server.url });
      context = contextOf(version, values);
    });
    afterAll(async () => {
      await server.close();
      await world.stop();
    });

    it('has a call for every method that sends a request', () => {
      const called = nodeCallsOf(version)
        .map(({ call }) => call)
        .join(' ');
      const missing = requestingMethods(loadNodeSdk(version)).filter(
        (method) => !called.includes(`${method}(`),
      );
      expect(missing).toEqual([]);
    });

    it.each(nodeCallsOf(version).map((call) => [call.call, call] as const))('%s', (_name, call) =>
      call.run(context),
    );
  },
);

function contextOf(version: NodeVersion, values: Values): NodeContext {
  const sdk = loadNodeSdk(version);
  const { clientId, clientSecret, url, accessToken = '', labelsToken = '' } = values;
  sdk.config({ clientId, clientSecret, apiServer: url });
  const client = sdk.with(accessToken);
  const value = (name: string): string => {
    const found = values[name];
    if (found === undefined) throw new Error(`no value ${name}`);
    return found;
  };
  // The models of version 6 convert plain objects only in their constructor. Those of the other
  // versions have no constructor for properties, and neither have webhooks.
  const make = (collection: NodeCollection, properties: object) =>
    version === 6 && collection !== sdk.webhooks
      ? new collection.modelClass(collection.connection, properties)
      : collection.build(properties);
  return { version, sdk, client, labels: sdk.with(labelsToken), values, value, make };
}
