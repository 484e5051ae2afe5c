import { Injectable } from '@nestjs/common';
import { html, Html } from '../../../platform/pages/html.ts';
import { task } from '../../../platform/threads/task.ts';
import { WorkLimitError } from '../../../platform/threads/work-errors.ts';
import { WorkThreads } from '../../../platform/threads/work-threads.ts';
import type { MessagePreview } from '../../jobs/job-types.ts';
import { MOST_SHOWN, type SafeContent } from './safe-html.ts';

const MOST_BYTES = 2 * MOST_SHOWN;
const CLEAN = task<typeof import('./safe-html.ts')>()(import.meta.url, './safe-html', 'safeHtml', {
  timeMs: 2_000,
  inputBytes: 2 * MOST_BYTES,
  outputBytes: 8 * MOST_BYTES,
  lane: 'short',
});

/** Senders expect a white page, whatever the colours of the console. */
const STYLES = new Html(
  'body{margin:16px;background:#fff;color:#171a26;font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}' +
    '.link{color:#2a4fd0;text-decoration:underline}img{max-width:100%}',
);

const TOO_COMPLICATED: SafeContent = {
  bodyAttributes: '',
  html: '<p>This message is too complicated to be shown.</p>',
  leftOut: [{ what: 'the whole content', count: 1, text: '' }],
};

/** The document in the frame of a preview: the content of a message, and nothing of ours. */
export const contentDocument = ({ bodyAttributes, html: shown }: SafeContent): string =>
  html`<!doctype html><html lang=""><head><meta charset="utf-8"/><title>Message</title><style>${STYLES}</style></head><body${new Html(bodyAttributes)}>${new Html(shown)}</body></html>`
    .text;

/** Cleans the content of messages for the preview. */
@Injectable()
export class MessageContent {
  constructor(private readonly threads: WorkThreads) {}

  /** Cleans the content of a message in a thread for untrusted input. */
  async safeContentOf({ id, html: content }: MessagePreview): Promise<SafeContent> {
    try {
      // One more character shows that the message goes on.
      return await this.threads.run(CLEAN, id, content.slice(0, MOST_SHOWN + 1));
    } catch (error) {
      if (!(error instanceof WorkLimitError)) throw error;
      return TOO_COMPLICATED;
    }
  }
}
