import { z } from 'zod';
import type { EgressClient } from '../../platform/egress/egress-client.ts';
import type { RelaySettings } from '../port/mail/relay.ts';
import { serviceAddress } from '../port/service-responses.ts';

/** SendGrid's own address. Accounts in its European region use `https://api.eu.sendgrid.com`. */
export const SENDGRID_URL = 'https://api.sendgrid.com';

export interface SendGridSettings {
  api_key: string;
  /** Without a trailing slash. */
  base_url: string;
  /** The postal address sent when a sender is to be verified. SendGrid may require one. */
  sender_address?: Record<string, string>;
}

const line = (most: number) => z.string().trim().min(1).max(most);

/** Maximum lengths according to SendGrid's API ("Create Verified Sender Request"). */
const senderAddress = z.strictObject({
  address: line(100),
  address2: line(100).optional(),
  city: line(150),
  state: line(2).optional(),
  zip: line(10).optional(),
  country: line(100),
});

/** @param egress decides which addresses are allowed */
export function sendGridSettings(egress: EgressClient) {
  return z.strictObject({
    api_key: z
      .string()
      .max(500, 'must not be longer than 500 characters')
      .regex(/^[\x21-\x7e]+$/, 'must be an API key: visible ASCII characters'),
    base_url: serviceAddress(egress).default(SENDGRID_URL),
    sender_address: senderAddress.optional(),
  });
}

/** Stored settings with the type of this transport. */
export function asSendGridSettings(settings: RelaySettings): SendGridSettings {
  return settings as unknown as SendGridSettings;
}
