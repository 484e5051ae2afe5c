import { randomUUID } from 'node:crypto';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { isGeneratedId } from '../../src/mail/composing/generated-ids.ts';
import type {
  MailPort,
  OutgoingMessage,
  ProviderAccount,
} from '../../src/providers/port/connector.ts';
import { codeOf, outgoing, sendControl } from './contract-tools.ts';

/** What a provider keeps of the messages that it sends. */
export type Kept = 'everything' | 'own headers' | 'nothing';
type Lost = 'after sending' | 'before sending';
const isOwn = isGeneratedId('contract.test');

/** A provider whose unpleasant behaviour a test can choose. */
export interface ForgetfulProvider {
  mail: MailPort;
  account: () => Promise<ProviderAccount>;
  /**
   * What the provider changes of the messages that it sends: nothing, their Message-IDs, or also
   * all headers of the client's own.
   */
  keeps(what: Kept): void;
  /** The response to the next send is lost, after the message was sent or before. */
  loseResponse(when: Lost): void;
  /** How many messages with this subject the account has sent. */
  sent(account: ProviderAccount, subject: string): number;
}

/**
 * A provider without a stub of its own.
 * @param send sends a message, and files what the provider keeps of it
 */
export function forgetfulWith(
  { mail, account }: Pick<ForgetfulProvider, 'mail' | 'account'>,
  send: (from: ProviderAccount, message: OutgoingMessage, kept: Kept) => Promise<unknown>,
): ForgetfulProvider {
  let kept: Kept = 'everything';
  let lost: Lost | null = null;
  const sent: string[] = [];
  const sending: MailPort['send'] = async (from, message) => {
    const when = lost;
    lost = null;
    if (when !== 'before sending') {
      await send(from, message, kept);
      sent.push(`${from.email} ${/^Subject: (.*)$/m.exec(message.mime.toString())?.[1]}`);
    }
    if (when) throw new ProviderError('outcome-unknown', 'The connection was lost');
    return { accepted: message.envelope.recipients, refused: [], deferred: [], response: '250 OK' };
  };
  return {
    mail: new Proxy(mail, {
      get(target, name) {
        const member: unknown = name === 'send' ? sending : Reflect.get(target, name, target);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    }),
    account,
    keeps: (what) => void (kept = what),
    loseResponse: (when) => void (lost = when),
    sent: ({ email }, subject) => sent.filter((one) => one === `${email} ${subject}`).length,
  };
}

/**
 * Tests for what `MailPort.findSent` may claim about a provider that changes messages: a message is
 * sent again only if it was not sent.
 * @param manners what the provider may keep. One that bears no mark of ours finds nothing by `own
 *   headers`. Default: everything that there is
 */
export function describeLookUps(
  make: () => Promise<ForgetfulProvider>,
  manners: readonly Kept[] = ['everything', 'own headers', 'nothing'],
): void {
  const keeping = manners.filter((one) => one !== 'nothing');
  describe('look-ups of messages whose response was lost', () => {
    const begun = new Date();

    /** A message whose response is lost, and what is known of it. */
    async function lost(
      { mail, account, loseResponse }: ForgetfulProvider,
      when: 'after sending' | 'before sending',
      from?: ProviderAccount,
    ) {
      const sender = from ?? (await account());
      const subject = `Lost ${randomUUID()}`;
      const message = outgoing(sender, ['bo@elsewhere.test'], { subject });
      loseResponse(when);
      expect(await codeOf(mail.send(sender, message, sendControl()))).toBe('outcome-unknown');
      const look = () => mail.findSent(sender, message.messageIdHeader, tracesOf(message, subject));
      return { sender, subject, message, look };
    }
    const proves = ({ mail }: ForgetfulProvider) => mail.provesAbsence ?? true;
    const tracesOf = ({ envelope }: OutgoingMessage, subject: string) => ({
      recipients: envelope.recipients,
      subject,
      since: begun,
      // As in the server: Message-IDs of `outgoing` are those of our own messages.
      ownIdsAmong: async (ids: readonly string[]) => new Set(ids.filter(isOwn)),
    });

    it.each(keeping)('finds a message that was sent by a provider that keeps %s', async (kept) => {
      const provider = await make();
      provider.keeps(kept);
      const { look, sender, subject } = await lost(provider, 'after sending');
      expect(await look()).toEqual({ found: true, conclusive: true });
      expect(provider.sent(sender, subject)).toBe(1);
    });

    it.each(keeping)(
      'proves that a message was not sent by a provider that keeps %s, although a message like it was, if absence can be proven',
      async (kept) => {
        const provider = await make();
        provider.keeps(kept);
        const { look, sender, subject } = await lost(provider, 'before sending');
        const twin = outgoing(sender, ['bo@elsewhere.test'], { subject });
        await provider.mail.send(sender, twin, sendControl());
        expect(await look()).toEqual({ found: false, conclusive: proves(provider) });
      },
    );

    if (manners.includes('nothing')) describeForgetful();
    if (manners.includes('own headers')) describeCopies();

    function describeForgetful() {
      it('does not claim that a message was not sent if the provider keeps nothing of it but its recipients and subject', async () => {
        const provider = await make();
        provider.keeps('nothing');
        const { look } = await lost(provider, 'after sending');
        expect(await look()).toEqual({ found: false, conclusive: false, similar: true });
      });

      it('proves that a message was not sent by a provider that keeps nothing if no message has its recipients and subject, and absence can be proven', async () => {
        const provider = await make();
        provider.keeps('nothing');
        const { look, sender } = await lost(provider, 'before sending');
        await provider.mail.send(sender, outgoing(sender, ['bo@elsewhere.test']), sendControl());
        expect(await look()).toEqual({ found: false, conclusive: proves(provider) });
      });
    }

    function describeCopies() {
      it('files one copy of a relayed message, although the provider replaces Message-IDs', async () => {
        const provider = await make();
        provider.keeps('own headers');
        const sender = await provider.account();
        const subject = `Relayed ${randomUUID()}`;
        const { messageIdHeader, mime } = outgoing(sender, ['bo@elsewhere.test'], { subject });
        for (let times = 0; times < 3; times++)
          await provider.mail.fileRelayed(sender, messageIdHeader, mime);
        expect(provider.sent(sender, subject)).toBe(1);
      });
    }
  });
}
