import { z, type ZodType } from 'zod';
import type { EgressClient, EgressMethod } from '../../platform/egress/egress-client.ts';
import { storable } from '../../platform/base/text/storable.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type {
  ConferencingPort,
  ConferencingSettings,
  Meeting,
  MeetingContent,
  MeetingKey,
} from '../port/conferencing-port.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { ZoomApi } from './zoom.api.ts';
import {
  asZoomSettings,
  type ZoomMeetingSettings,
  zoomMeetingSettings,
  zoomSettings,
} from './zoom.settings.ts';

/** Values of `type` in Zoom's meetings. */
const SCHEDULED = 2;
const NO_FIXED_TIME = 3;

const MOST_TITLE = 200;
const MOST_PHONES = 20;
const PAGE = 300;
/** Pages searched for a lost meeting, that is 6,000 meetings. */
const MOST_PAGES = 20;

const MOST_TEXT = 2048;

/** Responses are stored and sent on, so characters that PostgreSQL cannot store are removed. */
const someText = (most: number) =>
  z
    .string()
    .max(most)
    .transform((text) => storable(text, most));
const optionalText = someText(MOST_TEXT).nullish().catch(null);
/** Normalised as the URL standard specifies: without spaces, quotes and line breaks. */
const address = z
  .url({ protocol: /^https?$/ })
  .transform((url) => new URL(url).href)
  .pipe(z.string().max(MOST_TEXT));
const meetingAnswer = z.object({
  id: z.union([z.number().int(), someText(100).pipe(z.string().min(1))]),
  join_url: address,
  password: optionalText,
  pstn_password: optionalText,
  settings: z
    .object({ global_dial_in_numbers: z.array(z.object({ number: someText(100) })).catch([]) })
    .partial()
    .nullish()
    .catch(null),
});
const meetingsAnswer = z.object({
  meetings: z.array(
    z.object({
      id: z.union([z.number(), someText(100)]),
      agenda: z.string().nullish().catch(null),
    }),
  ),
  next_page_token: optionalText,
});

/** Zoom, or another server with its API at `base_url`. */
export class ZoomMeetings implements ConferencingPort {
  readonly kind = 'zoom';
  readonly providers = ['Zoom Meeting'] as const;
  readonly settingsSchema: ZodType<Record<string, unknown>>;
  readonly secretSettings = ['client_secret'];
  readonly meetingSchema = zoomMeetingSettings;
  readonly #api: ZoomApi;

  constructor(egress: EgressClient, clock: Clock) {
    this.settingsSchema = zoomSettings(egress);
    this.#api = new ZoomApi(egress, clock);
  }

  async verify(settings: ConferencingSettings) {
    await this.#api.authenticate(asZoomSettings(settings));
  }

  /**
   * Searches for the key in the agenda. Zoom has no custom field that works without setup, and its
   * list of meetings includes agendas.
   */
  async find(settings: ConferencingSettings, meeting: MeetingKey) {
    let next = '';
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const path = `${pathOf(settings, meeting)}?type=scheduled&page_size=${PAGE}&next_page_token=${encodeURIComponent(next)}`;
      const { meetings, next_page_token } = read(
        meetingsAnswer,
        await this.#call(settings, 'GET', path),
      );
      const found = meetings.find(({ agenda }) => agenda?.includes(meeting.key));
      if (found) return this.#get(settings, String(found.id));
      if (!next_page_token) return null;
      next = next_page_token;
    }
    return null;
  }

  async create(settings: ConferencingSettings, meeting: MeetingKey, content: MeetingContent) {
    const body = { ...toZoom(content), agenda: `Reference: ${meeting.key}` };
    return toMeeting(await this.#call(settings, 'POST', pathOf(settings, meeting), body));
  }

  async update(settings: ConferencingSettings, id: string, content: MeetingContent) {
    await this.#call(settings, 'PATCH', `/v2/meetings/${encodeURIComponent(id)}`, toZoom(content));
    // A new password also changes the join address.
    return (await this.#get(settings, id)).details;
  }

  async delete(settings: ConferencingSettings, id: string) {
    try {
      await this.#call(settings, 'DELETE', `/v2/meetings/${encodeURIComponent(id)}`);
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
    }
  }

  async #get(settings: ConferencingSettings, id: string): Promise<Meeting> {
    return toMeeting(await this.#call(settings, 'GET', `/v2/meetings/${encodeURIComponent(id)}`));
  }

  actsAsAddress(settings: ConferencingSettings) {
    return asZoomSettings(settings).user.includes(OWN_ADDRESS);
  }

  #call(
    settings: ConferencingSettings,
    method: EgressMethod,
    path: string,
    body?: object,
  ): Promise<unknown> {
    return this.#api.call(asZoomSettings(settings), method, path, body);
  }
}

const OWN_ADDRESS = '{email}';

function pathOf(settings: ConferencingSettings, { email }: MeetingKey): string {
  const user = asZoomSettings(settings).user.replace(OWN_ADDRESS, email);
  return `/v2/users/${encodeURIComponent(user)}/meetings`;
}

/** The body of "Create a meeting" and "Update a meeting". */
function toZoom({ title, startsAt, durationMinutes, timezone, settings }: MeetingContent): object {
  const { password, settings: options } = settings as ZoomMeetingSettings;
  return {
    topic: title.slice(0, MOST_TITLE).toWellFormed(),
    ...(startsAt === null
      ? { type: NO_FIXED_TIME }
      : {
          type: SCHEDULED,
          start_time: `${new Date(startsAt * 1000).toISOString().slice(0, 19)}Z`,
          duration: durationMinutes,
          timezone: timezone ?? 'UTC',
        }),
    ...(password === undefined ? {} : { password }),
    ...(options === undefined ? {} : { settings: options }),
  };
}

function toMeeting(answer: unknown): Meeting {
  const { id, join_url, password, pstn_password, settings } = read(meetingAnswer, answer);
  const phone = (settings?.global_dial_in_numbers ?? [])
    .slice(0, MOST_PHONES)
    .map(({ number }) => number);
  return {
    id: String(id),
    details: {
      url: join_url,
      meeting_code: String(id),
      ...(password ? { password } : {}),
      ...(pstn_password ? { pin: pstn_password } : {}),
      ...(phone.length > 0 ? { phone } : {}),
    },
  };
}

function read<T>(shape: ZodType<T>, answer: unknown): T {
  const parsed = shape.safeParse(answer);
  if (!parsed.success)
    throw new ProviderError('outcome-unknown', 'Zoom: the response is not one of the Zoom API');
  return parsed.data;
}
