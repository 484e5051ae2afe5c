import { randomUUID } from 'node:crypto';
import type {
  MailPort,
  OutgoingMessage,
  ProviderAccount,
} from '../../src/providers/port/connector.ts';
import { codeOf, outgoing, sendControl } from './contract-tools.ts';

/** A provider whose unpleasant behaviour a test can choose. */
export interface ForgetfulProvider {
  mail: MailPort;
  account: () => Promise<ProviderAccount>;
  /**
   * What the provider changes of the messages that it sends: nothing, their Message-IDs, or also
   * all headers of the client's own.
   */
  keeps(what: 'everything' | 'own headers' | 'nothing'): void;
  /** The response to the next send is lost, after the message was sent or before. */
  loseResponse(when: 'after sending' | 'before sending'): void;
  /** How many messages with this subject the account has sent. */
  sent(account: ProviderAccount, subject: string): number;
}

/**
 * Tests for what `MailPort.findSent` may claim about a provider that changes messages: a message is
 * sent again only if it was not sent.
 */
export function describeLookUps(make: () => Promise<ForgetfulProvider>): void {
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
    });

    it.each(['everything', 'own headers'] as const)(
      'finds a message that was sent by a provider that keeps %s',
      async (kept) => {
        const provider = await make();
        provider.keeps(kept);
        const { look, sender, subject } = await lost(provider, 'after sending');
        expect(await look()).toEqual({ found: true, conclusive: true });
        expect(provider.sent(sender, subject)).toBe(1);
      },
    );

    it.each(['everything', 'own headers'] as const)(
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
  });
}
