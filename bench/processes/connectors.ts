import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Connector, MailPort, SendReceipt } from '../../src/providers/port/connector.ts';
import type { SmtpSender } from '../../src/providers/smtp/smtp-sender.ts';
import type { SmtpServer } from '../../src/providers/smtp/smtp-settings.ts';

/** Destination of a bench's mail. */
export type BenchMail = { kind: 'instant'; delayMs: number } | { kind: 'smtp'; port: number };

/** Milliseconds between the due time and the hand-off, by the tag in the Message-ID. */
export class Lateness {
  #byTag: Record<string, number[]> = {};

  /** @param messageIdHeader as `seedMessages` writes it: `<tag.due.number@…>` */
  note(messageIdHeader: string): void {
    const [tag = '', dueMs = ''] = messageIdHeader.slice(1).split('.');
    (this.#byTag[tag] ??= []).push(Date.now() - Number(dueMs));
  }

  /** Returns what was recorded since the last call. */
  take(): Record<string, number[]> {
    const taken = this.#byTag;
    this.#byTag = {};
    return taken;
  }
}

const unused = (): never => {
  throw new Error('the bench does not use this part of the connector');
};

/** A mail port that can only send. */
function sendingOnly(send: MailPort['send']): MailPort {
  return {
    send,
    findSent: () => Promise.resolve({ found: false, conclusive: false }),
    fileRelayed: unused,
    listChanges: unused,
    fetchRaw: unused,
    openFile: unused,
  };
}

function connector(mail: MailPort): Connector {
  return {
    name: 'imap',
    settingsSchema: z.looseObject({}),
    verify: unused,
    mail,
  };
}

/** Accepts every message after `delayMs` (0: at once) without sending it. */
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
 * Sends to a server on this machine through the product's own SMTP sender. Each account has its own
 * connections, as with any provider.
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
