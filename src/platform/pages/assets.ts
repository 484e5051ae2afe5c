import { createHash } from 'node:crypto';

/** A small file that pages load, such as their stylesheet. */
export interface PageAsset {
  /** File name with a part that changes with the content, so browsers may cache it for ever. */
  name: string;
  /** URL path of the file. */
  path: string;
  content: string;
}

/** `Cache-Control` of assets. */
export const CACHED_FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * @param folder URL path of the folder, without a slash at its end
 * @param file file name such as `sign-in.css`
 */
export function pageAsset(folder: string, file: string, content: string): PageAsset {
  const version = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const name = file.replace(/(?=\.[^.]+$)/, `.${version}`);
  return { name, path: `${folder}/${name}`, content };
}
