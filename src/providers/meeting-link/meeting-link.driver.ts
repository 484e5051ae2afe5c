import { z } from 'zod';
import {
  CONFERENCING_PROVIDERS,
  type ConferencingPort,
  type ConferencingSettings,
  type MeetingKey,
} from '../port/conferencing-port.ts';

const ROOM = '{room}';

const MOST_LENGTH = 1000;
const TOO_LONG = `must not be longer than ${MOST_LENGTH} characters`;

/** Replaces `{room}` while the URL is parsed. URL normalisation never rewrites these characters. */
const STAND_IN = 'theroomsname';

const urlTemplate = z
  .string()
  .trim()
  .max(MOST_LENGTH, TOO_LONG)
  .transform((template, context) => {
    const read = readTemplate(template);
    if ('url' in read) return read.url.replace(STAND_IN, ROOM);
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  });

/**
 * Parses and normalises the template, with the stand-in for the room. A normalised URL contains no
 * line breaks, spaces or quotes, which could break events and calendar files. The room must be in
 * the path, query or fragment, so that only the meeting's server sees it.
 */
function readTemplate(template: string): { url: string } | { problem: string } {
  const once = template.split(ROOM).length === 2 && !template.includes(STAND_IN);
  if (!once)
    return { problem: `must contain ${ROOM} exactly once: it is replaced by the name of the room` };
  const url = URL.parse(template.replace(ROOM, STAND_IN));
  if (url?.protocol !== 'https:') return { problem: 'must be an https address' };
  if (url.username || url.password) return { problem: 'must not contain a user name or password' };
  const { href, host } = url;
  if (host.includes(STAND_IN) || href.split(STAND_IN).length !== 2)
    return { problem: `must contain ${ROOM} after the host` };
  return href.length > MOST_LENGTH ? { problem: TOO_LONG } : { url: href };
}

/**
 * Meetings that are only a URL, such as those of a Jitsi server: opening the URL joins the meeting.
 * Uses no network. The name of the room is the meeting's key, so it cannot be guessed and a
 * repeated call returns the same URL.
 */
export class MeetingLinks implements ConferencingPort {
  readonly kind = 'link';
  readonly providers = CONFERENCING_PROVIDERS;
  readonly settingsSchema = z.strictObject({ url_template: urlTemplate });
  readonly secretSettings = [];
  readonly meetingSchema = z.strictObject(
    {},
    { error: 'meetings of the kind "link" have no settings' },
  );

  async verify() {}

  async find(settings: ConferencingSettings, { key }: MeetingKey) {
    const url = String(settings['url_template']).replace(ROOM, key);
    return { id: key, details: { url, meeting_code: key } };
  }

  create(settings: ConferencingSettings, meeting: MeetingKey) {
    return this.find(settings, meeting);
  }

  /** A meeting keeps its URL even if the template has changed since. */
  async update() {
    return null;
  }

  async delete() {}
}
