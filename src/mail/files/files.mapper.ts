import type { FileFilter, FileRecord } from './file-record.ts';
import type { FileView, ListFilesQuery } from './files.schema.ts';

/** Converts a query of `GET /files` to the service's filter. */
export function toFileFilter(query: Omit<ListFilesQuery, 'view'>): FileFilter {
  return { messageId: query.message_id, filename: query.filename, contentType: query.content_type };
}

export function toFileView(file: FileRecord): FileView {
  return {
    id: file.id,
    object: 'file',
    account_id: file.accountId,
    content_type: file.contentType,
    filename: file.filename,
    size: file.size,
    message_ids: file.messageIds,
    ...(file.contentId === null ? {} : { content_id: file.contentId }),
    ...(file.contentDisposition === null ? {} : { content_disposition: file.contentDisposition }),
  };
}

/**
 * Content-Disposition of a download (RFC 6266), with the name in ASCII for old clients and in
 * UTF-8. The type is always `attachment`, so that a browser never shows a sender's file as a page
 * of this server.
 */
export function contentDisposition({ filename }: Pick<FileRecord, 'filename'>): string {
  const name = filename.replaceAll(/[\p{Cc}/\\]/gu, '_') || 'attachment';
  const plain = name.replaceAll(/[^\x20-\x7e]/g, '_').replaceAll(/["%]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${encoded}`}`;
}
