import { Injectable } from '@nestjs/common';
import { html, Html } from '../../../platform/pages/html.ts';
import { task } from '../../../platform/threads/task.ts';
import { WorkLimitError } from '../../../platform/threads/work-errors.ts';
import { WorkThreads } from '../../../platform/threads/work-threads.ts';
import type { MessagePreview } from '../../jobs/job-types.ts';
import { size } from '../kit/figures.ts';
import { MOST_SHOWN } from './safe-html.ts';

const MOST_BYTES = 2 * MOST_SHOWN;
const CLEAN = task<typeof import('./safe-html.ts')>()(import.meta.url, './safe-html', 'safeHtml', {
  timeMs: 2_000,
  inputBytes: 2 * MOST_BYTES,
  outputBytes: 8 * MOST_BYTES,
  lane: 'short',
});

/** Senders expect a white page, whatever the colours of the console. */
const STYLES = new Html(
  'body{margin:0;background:#fff;color:#171a26;font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}' +
    '#carillon-head{padding:12px 16px;background:#f3f4f8;border-bottom:1px solid #d4d8e3;font-size:14px}' +
    '#carillon-head p{margin:0}#carillon-body{padding:16px}#carillon-headers{padding:0 16px 16px;font-size:13px}' +
    '#carillon-headers pre{white-space:pre-wrap}.link{color:#2a4fd0;text-decoration:underline}img{max-width:100%}',
);

const line = (name: string, value: string): Html | null =>
  value ? html`<p><b>${name}:</b> ${value}</p>` : null;

/** The document that the frame of a preview shows. @param shown the content, cleaned */
export function contentDocument(message: MessagePreview, shown: Html): string {
  const { subject, from, to, cc, attachments, headers, bytes } = message;
  const files = attachments.map(({ filename, contentType }) => `${filename} (${contentType})`);
  return html`<!doctype html><html lang=""><head><meta charset="utf-8"/><title>Message</title><style>${STYLES}</style></head><body>
<div id="carillon-head">${line('Subject', subject)}${line('From', from.join(', '))}${line('To', to.join(', '))}${line('Cc', cc.join(', '))}${line('Attachments', files.join(', '))}${line('Size', size(bytes))}</div>
<div id="carillon-body">${shown}</div>
${headers ? html`<details id="carillon-headers"><summary>Headers</summary><pre>${headers}</pre></details>` : null}</body></html>`.text; // prettier-ignore
}

/** Makes the documents that the frame of a preview shows. */
@Injectable()
export class MessageContent {
  constructor(private readonly threads: WorkThreads) {}

  /**
   * Cleans the content of a message in a thread for untrusted input.
   * @returns a whole document
   */
  async documentOf(message: MessagePreview): Promise<string> {
    return contentDocument(message, await this.#clean(message));
  }

  async #clean({ id, html: content }: MessagePreview): Promise<Html> {
    try {
      return new Html(await this.threads.run(CLEAN, id, content.slice(0, MOST_SHOWN)));
    } catch (error) {
      if (!(error instanceof WorkLimitError)) throw error;
      return html`<p>This message is too complicated to be shown.</p>`;
    }
  }
}
