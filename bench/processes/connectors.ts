import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Connector, MailPort, SendReceipt } from '../../src/providers/port/connector.ts';
import type { SmtpSender } from '../../src/providers/smtp/smtp-sender.ts';
import type { SmtpServer } from '../../src/providers/smtp/smtp-settings.ts';

/** Where the mail of a bench goes. */
export type BenchMail = { kind: 'instant'; delayMs: number } | { kind: 'smtp'; port: number };

/** Milliseconds between the promised time and the hand-off, by the tag in the Message-ID. */
export class Lateness {
  #byTag: Record<string, number[]> = {};

  /** @param messageIdHeader as `seedMessages` writes it: `<tag.due.number@…>` */
  note(messageIdHeader: string): void {
    const [tag = '', dueMs = ''] = messageIdHeader.slice(1).split('.');
    (this.#byTag[tag] ??= []).push(Date.now() - Number(dueMs));
  }

  /** What has come since the last time. */
  take(): Record<string, number[]> {
    const taken = this.#byTag;
    this.#byTag = {};
    return taken;
  }
}

const unused = (): never => {
  throw new Error('not part of a bench');
};

/** A mail port of which only sending works. */
function sendingOnly(send: MailPort['send']): MailPort {
  return {
    send,
    findSent: () => Promise.resolve({ found: false, conclusive: false }),
    listChanges: unused,
    fetchRaw: unused,
    openFile: unused,
  };
}

function connector(mail: MailPort): Connector {
  return {
    name: 'imap',
    settingsSchema: z.record(z.string(), z.unknown()),
    verify: unused,
    mail,
  };
}

/** Takes every message after `delayMs` (0: at once) without sending it anywhere. */
export function instantConnector(delayMs: number, lateness: Lateness): Connector {
  return connector(
    sendingOnly(async (_account, message, control): Promise<SendReceipt> => {
      lateness.note(message.messageIdHeader);
      control.onPhase('content');
      if (delayMs > 0) await delay(delayMs);
      return {
        accepted: message.envelope.recipients,
        refused: [],
        deferred: [],
        response: '250 taken',
      };
    }),
  );
}

/**
 * Sends to a server on this machine, over the product's own SMTP sender: each account has its own connections there, as
 * with any provider.
 */
export function smtpConnector(sender: SmtpSender, port: number, lateness: Lateness): Connector {
  const server = {
    host: '127.0.0.1',
    port,
    security: 'none',
    login: { user: 'bench', password: 'bench' },
  } as const satisfies SmtpServer;
  return connector(
    sendingOnly((account, message, control) => {
      lateness.note(message.messageIdHeader);
      return sender.send(account.accountId, server, message, control);
    }),
  );
}
