import { z } from 'zod';
import type { OutgoingMessage, SendControl } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { RelaySettings, RelayTransport } from '../port/relay.ts';
import type { SmtpSender } from './smtp-sender.ts';
import type { SmtpServer } from './smtp-settings.ts';

const HOST =
  /^(?!.*\.$)([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*|[0-9a-f:.]+)$/i;

const settingsSchema = z
  .strictObject({
    host: z.string().max(253).regex(HOST, 'must be a host name or an address'),
    port: z.int().min(1).max(65_535),
    security: z.enum(['tls', 'starttls', 'none']),
    username: z.string().min(1).max(320).optional(),
    password: z.string().min(1).max(1024).optional(),
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    message: 'username and password go together',
    path: ['password'],
  });

/**
 * A mailing service, or a mail server of the operator's, that takes mail by SMTP. Whether it takes mail from an address is
 * asked without sending any: it accepts the sender, or not. It cannot be asked what it has sent.
 */
export class SmtpRelay implements RelayTransport {
  readonly kind = 'smtp';
  readonly settingsSchema = settingsSchema;
  readonly secretSettings = ['password'];

  constructor(private readonly sender: SmtpSender) {}

  async verify(settings: RelaySettings) {
    const { key, server } = toServer(settings);
    await this.sender.verify(key, server);
  }

  send(settings: RelaySettings, message: OutgoingMessage, control: SendControl) {
    const { key, server } = toServer(settings);
    return this.sender.send(key, server, message, control);
  }

  async findSent() {
    return { found: false, conclusive: false };
  }

  /** There is nothing to begin: a server has its own ways to allow a sender. */
  enrol(settings: RelaySettings, sender: { email: string; name: string }) {
    return this.senderStatus(settings, sender.email);
  }

  async senderStatus(settings: RelaySettings, email: string) {
    const { key, server } = toServer(settings);
    try {
      await this.sender.verify(key, server, email);
      return { domainVerified: false, senderVerified: true, detail: null };
    } catch (error) {
      // Only the answer about the sender is one; a failed login says nothing about addresses.
      if (!(error instanceof ProviderError) || error.code !== 'rejected') throw error;
      return { domainVerified: false, senderVerified: false, detail: error.message };
    }
  }

  async removeSender() {
    // The server keeps no list that we could change.
  }
}

/** @throws {z.ZodError} for settings that are not of this kind */
function toServer(settings: RelaySettings): { key: string; server: SmtpServer } {
  const { host, port, security, username, password } = settingsSchema.parse(settings);
  const login =
    username !== undefined && password !== undefined ? { user: username, password } : null;
  // The same settings are the same relay: the sender tells servers apart by all of them, the password too.
  return { key: 'relay', server: { host, port, security, login } };
}
