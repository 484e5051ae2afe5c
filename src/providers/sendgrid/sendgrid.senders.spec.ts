import { codeOf, sendControl } from '../../../test/support/connector-contract.ts';
import { ADA, relayMessage, useSendGrid } from '../../../test/support/sendgrid-relay-fixture.ts';

describe('a sender at SendGrid', () => {
  const sendgrid = useSendGrid();
  const { relay } = sendgrid;
  beforeEach(() => {
    sendgrid.service.domains = [];
  });
  const posted = () => sendgrid.service.asked.filter(({ method }) => method === 'POST');

  it('is confirmed by its domain without a mail to the sender', async () => {
    sendgrid.service.domains.push({ domain: 'example.test', valid: true });
    const status = { domainVerified: true, senderVerified: false, detail: null };
    expect(await relay.enrol(sendgrid.settings, ADA)).toEqual(status);
    expect(await relay.senderStatus(sendgrid.settings, 'ada@EXAMPLE.test')).toMatchObject({
      domainVerified: true,
    });
    expect(posted()).toEqual([]);
  });

  it.each([
    { domain: 'example.test', valid: false },
    { domain: 'sub.example.test', valid: true },
  ])('is not confirmed by the domain %j', async (domain) => {
    sendgrid.service.domains.push(domain);
    expect(await relay.senderStatus(sendgrid.settings, ADA.email)).toMatchObject({
      domainVerified: false,
    });
  });

  it('gets a link by mail once and is confirmed after the link was followed', async () => {
    const waiting = await relay.enrol(sendgrid.settings, ADA);
    expect(waiting).toMatchObject({
      senderVerified: false,
      detail: expect.stringContaining('link'),
    });
    expect(await relay.enrol(sendgrid.settings, ADA)).toEqual(waiting);
    expect(posted()).toHaveLength(1);
    expect(sendgrid.service.senders[0]).toMatchObject({
      nickname: ADA.email,
      from_email: ADA.email,
      from_name: 'Ada',
      reply_to: ADA.email,
    });
    sendgrid.service.follow(ADA.email);
    const verified = { domainVerified: false, senderVerified: true, detail: null };
    expect(await relay.enrol(sendgrid.settings, ADA)).toEqual(verified);
    expect(await relay.senderStatus(sendgrid.settings, 'ADA@example.test')).toEqual(verified);
  });

  it('is created with the postal address from the settings', async () => {
    const sender_address = { address: 'Ring 1', city: 'Graz', country: 'Austria' };
    await relay.enrol({ ...sendgrid.settings, sender_address }, ADA);
    expect(sendgrid.service.senders[0]).toMatchObject(sender_address);
  });

  it('can be checked without being enrolled', async () => {
    expect(await relay.senderStatus(sendgrid.settings, ADA.email)).toMatchObject({
      senderVerified: false,
    });
    expect(posted()).toEqual([]);
  });

  it('is searched on all pages of senders', async () => {
    sendgrid.service.senders = Array.from({ length: 250 }, (_, index) => ({
      id: index + 1,
      from_email: `s${index}@example.test`,
      verified: index === 249,
    }));
    expect(await relay.senderStatus(sendgrid.settings, 's249@example.test')).toMatchObject({
      senderVerified: true,
    });
    expect(await relay.senderStatus(sendgrid.settings, 's250@example.test')).toMatchObject({
      senderVerified: false,
    });
    expect(sendgrid.service.asked.length).toBeLessThan(12);
  });

  it('is removed; removing an unknown one is not an error', async () => {
    await relay.enrol(sendgrid.settings, ADA);
    await relay.removeSender(sendgrid.settings, 'ADA@example.test');
    expect(sendgrid.service.senders).toEqual([]);
    await relay.removeSender(sendgrid.settings, ADA.email);
  });

  it('has a detail that explains missing rights of the key and refusals of the service', async () => {
    for (let round = 0; round < 2; round += 1) {
      sendgrid.service.answer('/v3/verified_senders', 403);
      sendgrid.service.answer('/v3/whitelabel/domains', 403);
    }
    expect(await relay.senderStatus(sendgrid.settings, ADA.email)).toEqual({
      domainVerified: false,
      senderVerified: false,
      detail: 'the API key is not allowed to read the verified senders',
    });
    sendgrid.service.faults.length = 0;
    sendgrid.service.answer('/v3/whitelabel/domains', 200, []);
    sendgrid.service.answer('/v3/verified_senders', 200, { results: [] });
    sendgrid.service.answer('/v3/verified_senders', 400, {
      errors: [{ message: 'address is required', field: 'address' }],
    });
    expect((await relay.enrol(sendgrid.settings, ADA)).detail).toContain('address is required');
  });

  it('reports a wrong key as auth-invalid from every method', async () => {
    const wrong = { ...sendgrid.settings, api_key: 'SG.wrong' };
    const codes = await Promise.all([
      codeOf(relay.enrol(wrong, ADA)),
      codeOf(relay.senderStatus(wrong, ADA.email)),
      codeOf(relay.removeSender(wrong, ADA.email)),
      codeOf(relay.send(wrong, await relayMessage(['bo@x.test']), sendControl())),
    ]);
    expect(new Set(codes)).toEqual(new Set(['auth-invalid']));
  });
});
