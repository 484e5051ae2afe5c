import type { ZodType } from 'zod';
import type { OutgoingMessage, SendControl, SendReceipt, SentLookup } from './connector.ts';
import { ProviderError, type SendPhase } from '../../platform/base/errors/provider-error.ts';

/*
 * The port of third-party mailing services (spec 4.3 rule 8, 8). As connectors: plain values in, plain values or
 * `ProviderError` out, no state but connections.
 */

/** Kinds of mailing services an application can configure. */
export const RELAY_KINDS = ['sendgrid', 'smtp'] as const;
export type RelayKind = (typeof RELAY_KINDS)[number];

/** Settings of one application's service: what the `settingsSchema` of its kind produced. */
export type RelaySettings = Readonly<Record<string, unknown>>;

/** Whether the service takes mail from an address. It does when either is true. */
export interface SenderStatus {
  /** It has authenticated the whole domain of the address. */
  domainVerified: boolean;
  /** It has verified this very address. */
  senderVerified: boolean;
  /** Where both are false: its own words, or what the user has to do. */
  detail: string | null;
}

/**
 * The service does not take mail from the sender, perhaps not any more. The message itself may be fine, and another way
 * open to it: `temporary`.
 */
export class SenderRefusedError extends ProviderError {
  override name = 'SenderRefusedError';

  constructor(message: string, details: { phase?: SendPhase; cause?: unknown } = {}) {
    super('temporary', message, details);
  }
}

/** A mailing service. */
export interface RelayTransport {
  readonly kind: RelayKind;
  /** Settings as the API takes them; unknown keys are refused. */
  readonly settingsSchema: ZodType<Record<string, unknown>>;
  /** Names of settings that are never shown. */
  readonly secretSettings: readonly string[];
  /**
   * Checks settings with the service before they are stored.
   * @throws {ProviderError} `auth-invalid` when they are refused
   */
  verify(settings: RelaySettings): Promise<void>;
  /**
   * As `MailPort.send`.
   * @throws {SenderRefusedError} when it does not take mail from the sender
   * @throws {ProviderError} `auth-invalid` when it refuses the settings' credentials
   */
  send(
    settings: RelaySettings,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt>;
  /** As `MailPort.findSent`; a service that cannot be asked answers not found, not conclusive. */
  findSent(settings: RelaySettings, messageIdHeader: string): Promise<SentLookup>;
  /**
   * Asks whether it takes mail from the address, and where it does not, has it begin its verification (SendGrid mails the
   * address a link). Repeating it is harmless.
   */
  enrol(settings: RelaySettings, sender: { email: string; name: string }): Promise<SenderStatus>;
  /** Asks only. */
  senderStatus(settings: RelaySettings, email: string): Promise<SenderStatus>;
  /** Makes it forget the address; one it does not know is no error. */
  removeSender(settings: RelaySettings, email: string): Promise<void>;
}
