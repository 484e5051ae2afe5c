import type { NodeCall } from '../support/node-client.ts';

/** Filters with a `Date`, which each version writes into the query in its own way. */
export const DATE_CALLS: NodeCall[] = [
  {
    resource: 'messages',
    call: 'messages.list({ received_after: new Date() })',
    async run({ client }) {
      expect(await client.messages.list({ received_after: new Date() })).toEqual([]);
      const found = await client.messages.list({ received_before: new Date(), limit: 3 });
      expect(found).toHaveLength(3);
    },
  },
  {
    resource: 'threads',
    call: 'threads.list({ last_message_after: new Date() })',
    async run({ client }) {
      expect(await client.threads.list({ last_message_after: new Date(1_000) })).not.toEqual([]);
      expect(await client.threads.list({ last_message_after: new Date() })).toEqual([]);
    },
  },
];
