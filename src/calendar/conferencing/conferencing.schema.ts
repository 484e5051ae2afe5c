import { z } from 'zod';
import {
  CONFERENCING_KINDS,
  CONFERENCING_PROVIDERS,
} from '../../providers/port/conferencing-port.ts';

const kind = z.enum(CONFERENCING_KINDS, {
  error: `must be one of ${CONFERENCING_KINDS.join(', ')}`,
});

const provider = z.enum(CONFERENCING_PROVIDERS, {
  error: `must be one of ${CONFERENCING_PROVIDERS.join(', ')}`,
});

/** Body of `PUT /a/{client_id}/conferencing`. */
export const setConferencingSchema = z
  .object({
    provider: provider.describe('The name by which events select the service'),
    kind,
    settings: z
      .record(z.string(), z.unknown())
      .describe(
        'link: `url_template`, an https address with `{room}` in it; zoom: `account_id`, `client_id`, `client_secret` of a server-to-server OAuth app, optional `user` (default `me`), `base_url` (default https://api.zoom.us), `token_url`',
      ),
  })
  .meta({
    id: 'SetConferencing',
    example: {
      provider: 'Google Meet',
      kind: 'link',
      settings: { url_template: 'https://meet.example.com/{room}' },
    },
  });
export type SetConferencing = z.infer<typeof setConferencingSchema>;

export const conferencingServiceView = z
  .object({
    id: z.string(),
    provider,
    kind,
    settings: z.record(z.string(), z.unknown()).describe('Without secrets'),
    last_error: z
      .string()
      .nullable()
      .describe('Refused credentials or a used-up daily limit; null after the next success'),
    last_error_at: z.number().int().nullable(),
    created_at: z.number().int(),
    updated_at: z.number().int(),
  })
  .meta({
    id: 'ConferencingService',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000004',
      provider: 'Google Meet',
      kind: 'link',
      settings: { url_template: 'https://meet.example.com/{room}' },
      last_error: null,
      last_error_at: null,
      created_at: 1795255200,
      updated_at: 1795255200,
    },
  });
export type ConferencingServiceView = z.infer<typeof conferencingServiceView>;

export const conferencingServiceList = z.array(conferencingServiceView);

export const conferencingDeletedView = z
  .object({ success: z.literal(true) })
  .meta({ id: 'ConferencingDeleted', example: { success: true } });
