import { z } from 'zod';
import type { EgressClient } from '../../platform/egress/egress-client.ts';
import type { ConferencingSettings } from '../port/conferencing-port.ts';
import { serviceAddress } from '../port/service-responses.ts';

export const ZOOM_URL = 'https://api.zoom.us';
/** Zoom's own token endpoint. */
const ZOOM_TOKEN_URL = 'https://zoom.us/oauth/token';

export interface ZoomSettings {
  /** Account id, client id and secret of a server-to-server OAuth app. */
  account_id: string;
  client_id: string;
  client_secret: string;
  /**
   * The owner of the meetings: `me` (the owner of the app), a user's id or address, or `{email}`
   * for the account's address.
   */
  user: string;
  /** Without a trailing slash. */
  base_url: string;
  token_url: string;
}

const credential = z
  .string()
  .max(500, 'must not be longer than 500 characters')
  .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters');

/** @param egress decides which addresses are allowed */
export function zoomSettings(egress: EgressClient) {
  const address = serviceAddress(egress);
  return z
    .strictObject({
      account_id: credential,
      client_id: credential,
      client_secret: credential,
      user: credential.default('me'),
      base_url: address.default(ZOOM_URL),
      token_url: address.optional(),
    })
    .transform(({ token_url, ...settings }) => {
      const usual =
        settings.base_url === ZOOM_URL ? ZOOM_TOKEN_URL : `${settings.base_url}/oauth/token`;
      return { ...settings, token_url: token_url ?? usual };
    });
}

/** Stored settings with the type of this driver. */
export function asZoomSettings(settings: ConferencingSettings): ZoomSettings {
  return settings as unknown as ZoomSettings;
}

const MOST_SETTINGS = 40;

/**
 * `autocreate.settings` of an event: a part of the body of Zoom's "Create a meeting". Settings that
 * Zoom does not know are refused by Zoom itself.
 */
export const zoomMeetingSettings = z.strictObject({
  password: z
    .string()
    .regex(/^[A-Za-z0-9@\-_*]{1,10}$/, 'must be 1 to 10 letters, digits or any of @ - _ *')
    .optional(),
  settings: z
    .record(
      z
        .string()
        .regex(/^[a-z_]{1,50}$/, 'names must consist of lower-case letters and underscores'),
      z.union([z.boolean(), z.number(), z.string().max(500)], {
        error: 'must be true, false, a number or a text',
      }),
    )
    .refine(
      (given) => Object.keys(given).length <= MOST_SETTINGS,
      `must not have more than ${MOST_SETTINGS} entries`,
    )
    .optional(),
});
export type ZoomMeetingSettings = z.infer<typeof zoomMeetingSettings>;
