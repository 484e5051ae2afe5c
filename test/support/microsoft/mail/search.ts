import type { StoredMessage } from './message.ts';
import { previewOf } from './mime.ts';

/** Where a word of a search is looked up. */
const FIELDS: Record<string, (message: StoredMessage) => string> = {
  subject: ({ subject }) => subject,
  from: ({ from }) => `${from?.name} ${from?.address}`,
  to: ({ to }) => to.map(({ name, address }) => `${name} ${address}`).join(' '),
  cc: ({ cc }) => cc.map(({ name, address }) => `${name} ${address}`).join(' '),
  body: ({ body }) => body.content,
};

/** Whether a message matches `$search`: all its words, or words of one field as `subject:word`. */
export function matchesSearch(message: StoredMessage, search: string): boolean {
  const text = search.trim().replace(/^"|"$/g, '').replaceAll('\\"', '"');
  return text
    .split(/\s+(?:and\s+)?/i)
    .filter((word) => word !== '')
    .every((word) => {
      const [, field = '', value = ''] = /^(\w+):(.+)$/.exec(word) ?? [];
      const read = FIELDS[field.toLowerCase()];
      if (read) return contains(read(message), value);
      const { from, subject, body } = message;
      return contains(
        `${from?.name} ${from?.address} ${subject} ${previewOf(body)} ${body.content}`,
        word,
      );
    });
}

const contains = (text: string, word: string) =>
  text.toLowerCase().includes(word.toLowerCase().replaceAll('"', ''));
