import type { ZodType } from 'zod';
import type { OutgoingMessage, SendControl, SendReceipt, SentLookup } from '../connector.ts';
import { ProviderError, type SendPhase } from '../../../platform/base/errors/provider-error.ts';

/*
 * The interface of third-party mailing services (docs/relay.md). As for connectors, arguments and
 * results are plain values, and failures are thrown as `ProviderError`. A transport keeps no state
 * except connections.
 */

/** Kinds of mailing services that an application can configure. */
export const RELAY_KINDS = ['sendgrid', 'smtp'] as const;
export type RelayKind = (typeof RELAY_KINDS)[number];

/** Settings of one application's service: the output of the `settingsSchema` of its kind. */
export type RelaySettings = Readonly<Record<string, unknown>>;

/** Whether the service accepts mail from an address. It does if either flag is true. */
export interface SenderStatus {
  /** The service has authenticated the whole domain of the address. */
  domainVerified: boolean;
  /** The service has verified this exact address. */
  senderVerified: boolean;
  /** If both flags are false: the service's own explanation, or what the user has to do. */
  detail: string | null;
}

/**
 * The service does not, or no longer, accept mail from the sender. The code is `temporary`, because
 * the message itself may be fine and another route may accept it.
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
  /** Validates settings given to the API. Unknown keys are refused. */
  readonly settingsSchema: ZodType<Record<string, unknown>>;
  /** Names of settings that responses never show. */
  readonly secretSettings: readonly string[];
  /**
   * Checks settings with the service before they are stored.
   * @throws {ProviderError} `auth-invalid` if the service refuses them
   */
  verify(settings: RelaySettings): Promise<void>;
  /**
   * See `MailPort.send`.
   * @throws {SenderRefusedError} if the service does not accept mail from the sender
   * @throws {ProviderError} `auth-invalid` if the service refuses the credentials in the settings
   */
  send(
    settings: RelaySettings,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt>;
  /**
   * See `MailPort.findSent`. A service without a search returns `found: false` and `conclusive:
   * false`.
   */
  findSent(settings: RelaySettings, messageIdHeader: string): Promise<SentLookup>;
  /**
   * Checks whether the service accepts mail from the address. If it does not, starts the
   * verification (SendGrid mails a link to the address). Repeating the call is harmless.
   */
  enrol(settings: RelaySettings, sender: { email: string; name: string }): Promise<SenderStatus>;
  /** Checks whether the service accepts mail from the address, without starting a verification. */
  senderStatus(settings: RelaySettings, email: string): Promise<SenderStatus>;
  /** Removes the address from the service. An unknown address is not an error. */
  removeSender(settings: RelaySettings, email: string): Promise<void>;
}
