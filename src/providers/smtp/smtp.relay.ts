import { z } from 'zod';
import type { OutgoingMessage, SendControl } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { RelaySettings, RelayTransport } from '../port/mail/relay.ts';
import type { SmtpSender } from './smtp-sender.ts';
import type { SmtpServer } from './smtp-settings.ts';

const HOST =
  /^(?!.*\.$)([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*|[0-9a-f:.]+)$/i;

const PORT = 'must be between 1 and 65535';

const settingsSchema = z
  .strictObject({
    host: z.string().max(253).regex(HOST, 'must be a host name or an address'),
    port: z.int(PORT).min(1, PORT).max(65_535, PORT),
    security: z.enum(['tls', 'starttls', 'none']),
    username: z.string().min(1).max(320).optional(),
    password: z.string().min(1).max(1024).optional(),
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    message: 'username and password must be given together',
    path: ['password'],
  });

/**
 * A mailing service, or a mail server of the operator, that accepts mail by SMTP. The server itself
 * decides whether it accepts mail from an address: MAIL FROM is tried without sending a message.
 * SMTP offers no search for sent messages.
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

  /**
   * SMTP has no procedure to start a verification: each server has its own rules for allowing a
   * sender.
   */
  enrol(settings: RelaySettings, sender: { email: string; name: string }) {
    return this.senderStatus(settings, sender.email);
  }

  async senderStatus(settings: RelaySettings, email: string) {
    const { key, server } = toServer(settings);
    try {
      await this.sender.verify(key, server, email);
      return { domainVerified: false, senderVerified: true, detail: null };
    } catch (error) {
      // Only a refusal of the sender is a result; a failed login proves nothing about the address.
      if (!(error instanceof ProviderError) || error.code !== 'rejected') throw error;
      return { domainVerified: false, senderVerified: false, detail: error.message };
    }
  }

  async removeSender() {
    // SMTP offers no list of senders to change.
  }
}

/** @throws {z.ZodError} if the settings are not those of an SMTP relay */
function toServer(settings: RelaySettings): { key: string; server: SmtpServer } {
  const { host, port, security, username, password } = settingsSchema.parse(settings);
  const login =
    username !== undefined && password !== undefined ? { user: username, password } : null;
  // One key is enough: `SmtpSender` separates connections by all settings, including the password.
  return { key: 'relay', server: { host, port, security, login } };
}
