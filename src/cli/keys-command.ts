import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { giveUpKey } from '../app/keys/key-check.ts';
import { prepareReseal, reseal } from '../app/keys/reseal.ts';
import { SecretBox } from '../platform/base/crypto/secret-box.ts';
import { randomBase36 } from '../platform/base/ids/ids.ts';
import { Database } from '../platform/database/sql.ts';
import { formatJson } from './api-output.ts';
import type { OutputOptions } from './carillon-output.ts';
import { withOperator } from './operator-context.ts';

interface Io {
  environment: Readonly<Record<string, string | undefined>>;
  print(text: string): void;
}

/** Some secrets cannot be decrypted with any key of the key ring. */
export class UnopenedSecretsError extends Error {
  override name = 'UnopenedSecretsError';
}

/** Adds `carillon keys`. */
export function addKeys(program: Command, { environment, print }: Io): void {
  const keys = program.command('keys').description('Keys that encrypt secrets (ENCRYPTION_KEYS)');
  keys
    .command('generate')
    .description('print a new entry for ENCRYPTION_KEYS')
    .action((_: unknown, command: Command) => {
      const entry = `k${randomBase36(8)}:${randomBytes(32).toString('base64')}`;
      const { json } = command.optsWithGlobals<OutputOptions>();
      print(json ? formatJson({ encryption_key: entry }) : entry);
    });
  addLostKey(keys, { environment, print });
  keys
    .command('reseal')
    .description(
      'encrypt all secrets with the first key of ENCRYPTION_KEYS; refused while a running process does not have that key',
    )
    .option(
      '--force',
      'continue although processes that ran within the last minute do not have the key',
    )
    .action(async ({ force }: { force?: boolean }, command: Command) => {
      const { resealed, unopened } = await withOperator(environment, async (context) => {
        const [database, box] = [context.get(Database), context.get(SecretBox)];
        await prepareReseal(database, box, force);
        return reseal(database, box);
      });
      const { json } = command.optsWithGlobals<OutputOptions>();
      print(
        json
          ? formatJson({ resealed, unopened })
          : `Values encrypted with the newest key: ${resealed}.`,
      );
      if (unopened.length === 0) return;
      const rows = unopened.map(({ table, id }) => `  ${table} ${id}`);
      throw new UnopenedSecretsError(
        `${unopened.length} values cannot be decrypted with any key of ENCRYPTION_KEYS and were not changed:\n${rows.join('\n')}`,
      );
    });
}

function addLostKey(keys: Command, { environment, print }: Io): void {
  keys
    .command('forget <id>')
    .description('start without a lost key; values encrypted with it can never be decrypted again')
    .action(async (id: string, _: unknown, command: Command) => {
      await withOperator(environment, (context) =>
        giveUpKey(context.get(Database), context.get(SecretBox), id),
      );
      const text = `The key "${id}" is no longer needed to start. Connect accounts again if their secrets were encrypted with it.`;
      print(command.optsWithGlobals<OutputOptions>().json ? formatJson({ forgotten: id }) : text);
    });
}
