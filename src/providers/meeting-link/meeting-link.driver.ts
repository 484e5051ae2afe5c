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

/** Stands for the room's name while the address is read: nothing in it is ever rewritten. */
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
 * The address as the standard writes it, with the stand-in for the room: what is shown in events and calendars has no line breaks,
 * spaces or quotes. The room has to be in what only the meeting's server sees, and exactly where the template says.
 */
function readTemplate(template: string): { url: string } | { problem: string } {
  const once = template.split(ROOM).length === 2 && !template.includes(STAND_IN);
  if (!once) return { problem: `must have ${ROOM} once: that becomes the name of the room` };
  const url = URL.parse(template.replace(ROOM, STAND_IN));
  if (url?.protocol !== 'https:') return { problem: 'must be an https address' };
  if (url.username || url.password) return { problem: 'must not contain a user name or password' };
  const { href, host } = url;
  if (host.includes(STAND_IN) || href.split(STAND_IN).length !== 2)
    return { problem: `must have ${ROOM} behind the host` };
  return href.length > MOST_LENGTH ? { problem: TOO_LONG } : { url: href };
}

/**
 * Meetings that are addresses and nothing else, as those of a Jitsi server are: whoever opens the address is in the room. Asks
 * nobody. The room's name is the meeting's key: nobody can guess it, and a repeated call gives the same.
 */
export class MeetingLinks implements ConferencingPort {
  readonly kind = 'link';
  readonly providers = CONFERENCING_PROVIDERS;
  readonly settingsSchema = z.strictObject({ url_template: urlTemplate });
  readonly secretSettings = [];
  readonly meetingSchema = z.strictObject(
    {},
    { error: 'a meeting that is a link has no settings' },
  );

  async verify() {}

  async find(settings: ConferencingSettings, { key }: MeetingKey) {
    const url = String(settings['url_template']).replace(ROOM, key);
    return { id: key, details: { url, meeting_code: key } };
  }

  create(settings: ConferencingSettings, meeting: MeetingKey) {
    return this.find(settings, meeting);
  }

  /** The room stays where it is, also when the template is another one by now. */
  async update() {
    return null;
  }

  async delete() {}
}
