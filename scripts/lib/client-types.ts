import path from 'node:path';
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import { ROOT } from './project.ts';

/** Path of the generated types of the TypeScript client. */
export const CLIENT_TYPES_FILE = path.join(ROOT, 'clients/typescript/src/schema.ts');

/** The types of all paths and schemas of a document, as TypeScript. */
export async function clientTypes(document: string): Promise<string> {
  return COMMENT_HEADER + astToString(await openapiTS(document));
}
