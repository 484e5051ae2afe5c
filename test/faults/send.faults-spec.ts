import { type CallResponse, call } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import { until } from '../support/until.ts';
import type { FaultAccount } from '../support/worker-world.ts';

/**
 * The mail server accepts the message `ARRIVED` but never answers the final dot. It discards
 * `LOST`.
 */
const ARRIVED = 0;
const LOST = 1;

const DRAFT = `
  with thread as (
    insert into thread (id, account_id, subject, first_message_at, last_message_at)
    values (gen_random_uuid(), $1, 'Draft', now(), now()) returning id),
  draft as (
    insert into message (id, account_id, thread_id, subject, snippet, date, from_addresses, to_addresses, cc_addresses,
      bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft, message_id_header,
      reference_ids, metadata)
    select gen_random_uuid(), $1, id, 'Draft', '', now(), '[]', '[{"email":"bo@sink.test","name":"Bo"}]', '[]', '[]', '[]',
      '{}', false, false, false, true, '<draft@sink.test>', '{}', '{}' from thread returning id)
  insert into message_body (message_id, body) select id, '<p>Hi</p>' from draft returning message_id as id`;

describe('a server killed in the middle of POST /send', () => {
  let world: FaultWorld;
  const drafts: string[] = [];

  beforeAll(async () => {
    world = await FaultWorld.start({ accounts: 2 });
    for (const { id } of world.accounts)
      drafts.push((await world.sql.query<{ id: string }>(DRAFT, [id]))[0]?.id ?? '');
  });
  afterAll(() => world.close(), 60_000);

  it('does not repeat a message that arrived, and keeps the draft of a message that did not arrive', async () => {
    const dying = await world.startServer();
    let server = dying;
    const send = (index: number, key: string): Promise<CallResponse | null> =>
      call(server, world.accounts[index] as FaultAccount, 'POST', '/send', {
        body: { draft_id: drafts[index], version: 0 },
        headers: { 'Idempotency-Key': key },
      });
    const faults = async () =>
      Object.values((await world.sink.counts()).faults).reduce((sum, n) => sum + n, 0);
    await world.sink.behave({ silentAfterDot: 1 });
    const asked: Promise<CallResponse | null>[] = [];
    for (const index of [ARRIVED, LOST]) {
      asked.push(send(index, 'first'));
      await until('silence', async () => (await faults()) === index + 1);
    }
    await dying.kill();
    expect(await Promise.all(asked)).toEqual([null, null]);

    await world.sink.behave({});
    server = await world.startServer();
    for (const index of [ARRIVED, LOST])
      for (const key of ['first', 'other']) expect((await send(index, key))?.status).toBe(409);
    const jobs = await until('a worker to settle both outcomes', async () => {
      await world.hasten();
      const rows = await world.sql.query<{ status: string }>(
        `select status from job_status where action = 'send_message' order by created_at`,
      );
      return rows.every(({ status }) => status !== 'pending') && rows;
    });
    expect(jobs).toEqual([{ status: 'successful' }, { status: 'failed' }]);
    expect((await send(ARRIVED, 'first'))?.status).toBe(200);
    expect((await send(ARRIVED, 'other'))?.status).toBe(404);
    // If the message was certainly not sent, its idempotency key is free again, whichever process
    // found that out.
    expect((await send(LOST, 'first'))?.status).toBe(200);
    const accepted = await world.sink.accepted();
    expect(accepted.map(({ from }) => from)).toEqual(world.accounts.map(({ email }) => email));
  }, 240_000);
});
