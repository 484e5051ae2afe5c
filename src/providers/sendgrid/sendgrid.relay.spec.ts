import { EgressClient } from '../../platform/egress/egress-client.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { codeOf, sendControl } from '../../../test/support/connector-contract.ts';
import {
  failureOf,
  relayMessage,
  useSendGrid,
} from '../../../test/support/sendgrid-relay-fixture.ts';
import type { SendGridServer } from '../../../test/support/sendgrid-server.ts';
import { SendGridRelay } from './sendgrid.relay.ts';

describe('SendGridRelay', () => {
  const sendgrid = useSendGrid();
  const { relay, impatient, clock, threads } = sendgrid;

  describe('settings', () => {
    const parse = (value: unknown) => relay.settingsSchema.safeParse(value);

    it("use SendGrid's own address by default", () => {
      const strict = new SendGridRelay(new EgressClient(new EgressPolicy([])), clock, threads);
      expect(strict.settingsSchema.parse({ api_key: 'SG.x' })).toEqual({
        api_key: 'SG.x',
        base_url: 'https://api.sendgrid.com',
      });
    });

    it.each([
      'http://api.sendgrid.com',
      'https://169.254.169.254/latest',
      'https://[fd00::1]',
      'https://10.0.0.1',
      'https://localhost',
      'https://u:p@api.sendgrid.com',
      'ftp://api.sendgrid.com',
      'nonsense',
      'https://api.sendgrid.com/?x=1',
    ])('refuse %s as base URL', (base_url) => {
      const strict = new SendGridRelay(new EgressClient(new EgressPolicy([])), clock, threads);
      const parsed = strict.settingsSchema.safeParse({ api_key: 'SG.x', base_url });
      expect(parsed.error?.issues.map(({ path }) => path)).toEqual([['base_url']]);
    });

    it.each([
      [{}, 'api_key'],
      [{ api_key: '' }, 'api_key'],
      [{ api_key: 'a b' }, 'api_key'],
      [{ api_key: 'a\r\nx: y' }, 'api_key'],
      [{ api_key: 'x'.repeat(501) }, 'api_key'],
      [{ api_key: 'x', base_url: 7 }, 'base_url'],
      [{ api_key: 'x', sender_address: { city: 'Graz' } }, 'sender_address'],
    ])('name the wrong field of %j', (value, field) => {
      expect(parse(value).error?.issues[0]?.path[0]).toBe(field);
    });

    it('refuse unknown fields', () => {
      expect(parse({ api_key: 'x', apikey: 'y' }).success).toBe(false);
    });
  });

  describe('verify', () => {
    it('accepts a key that may send mail and refuses others as auth-invalid', async () => {
      await relay.verify(sendgrid.settings);
      sendgrid.service.scopes = ['user.profile.read'];
      expect((await failureOf(relay.verify(sendgrid.settings))).message).toContain('mail.send');
      expect(await codeOf(relay.verify({ ...sendgrid.settings, api_key: 'SG.wrong' }))).toBe(
        'auth-invalid',
      );
    });

    it('reports a server that does not answer as temporary', async () => {
      sendgrid.service.fail('/v3/scopes', () => undefined);
      expect(await codeOf(impatient.verify(sendgrid.settings))).toBe('temporary');
    });

    it.each<[string, (status: SendGridServer) => void]>([
      ['a broken connection', (one) => one.fail('/v3/scopes', (_, __, socket) => socket.destroy())],
      [
        'a redirect',
        (one) => one.answer('/v3/scopes', 302, {}, { location: 'http://169.254.169.254/' }),
      ],
      [
        'a body that is not JSON',
        (one) => one.fail('/v3/scopes', (response) => response.end('<html>')),
      ],
      ['other JSON', (one) => one.answer('/v3/scopes', 200, { scopes: 'all' })],
      [
        'an endless response',
        (one) => one.fail('/v3/scopes', (response) => response.end('x'.repeat(3e6))),
      ],
      ['500', (one) => one.answer('/v3/scopes', 500)],
    ])('reports %s as temporary', async (_, behave) => {
      behave(sendgrid.service);
      expect(await codeOf(relay.verify(sendgrid.settings))).toBe('temporary');
    });
  });

  describe('findSent', () => {
    it('uses the Email Activity feed, which proves nothing about a missing message', async () => {
      const { messageIdHeader } = await relayMessage([]);
      expect(await relay.findSent(sendgrid.settings, messageIdHeader)).toEqual({
        found: false,
        conclusive: false,
      });
      sendgrid.service.hasActivity = true;
      expect(await relay.findSent(sendgrid.settings, messageIdHeader)).toEqual({
        found: false,
        conclusive: false,
      });
      await relay.send(sendgrid.settings, await relayMessage(['bo@x.test']), sendControl());
      expect(await relay.findSent(sendgrid.settings, messageIdHeader)).toEqual({
        found: true,
        conclusive: true,
      });
      expect((await relay.findSent(sendgrid.settings, '<other@carillon.test>')).found).toBe(false);
      expect((await relay.findSent(sendgrid.settings, `<a"@x>`)).found).toBe(false);
    });

    it('throws temporary if the feed could not be read', async () => {
      sendgrid.service.answer('/v3/messages', 500);
      expect(await codeOf(relay.findSent(sendgrid.settings, '<m1@carillon.test>'))).toBe(
        'temporary',
      );
    });
  });
});
