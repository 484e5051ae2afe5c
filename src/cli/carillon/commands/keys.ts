import { randomBytes } from 'node:crypto';
import { OperatorError } from '../../../platform/base/errors/operator-error.ts';
import { randomBase36 } from '../../../platform/base/ids/ids.ts';
import { example } from '../arguments.ts';
import type { AddCommands } from '../cli.ts';

/** Some secrets cannot be decrypted with any key of the key ring. */
class UnopenedSecretsError extends OperatorError {
  constructor(unopened: readonly { table: string; id: string }[]) {
    const rows = unopened.map(({ table, id }) => `  ${table} ${id}`);
    super(
      'refused',
      `${unopened.length} values cannot be decrypted with any key of ENCRYPTION_KEYS and were not changed:\n${rows.join('\n')}`,
    );
  }
}

/** Adds `carillon keys`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('generate')
    .description('print a new entry for ENCRYPTION_KEYS')
    .addHelpText(...example('keys generate'))
    .action(() => {
      const entry = `k${randomBase36(8)}:${randomBytes(32).toString('base64')}`;
      cli.print({ encryption_key: entry }, entry);
    });
  group
    .command('forget <id>')
    .description('start without a lost key; values encrypted with it can never be decrypted again')
    .addHelpText(...example('keys forget k4x2mzqa'))
    .action(async (id: string) => {
      const { giveUpKey } = await import('../../../app/keys/key-check.ts');
      const { recordAudit } = await import('../../../platform/audit/record-audit.ts');
      await cli.withServices(({ database, secretBox }) =>
        database.transaction(async (sql) => {
          await giveUpKey(sql, secretBox, id);
          const target = { type: 'key', id };
          await recordAudit(sql, { actor: cli.actor, action: 'key.forget', target });
        }),
      );
      cli.print(
        { forgotten: id },
        `The key "${id}" is no longer needed to start. Connect accounts again if their secrets were encrypted with it.`,
      );
    });
  group
    .command('reseal')
    .description(
      'encrypt all secrets with the first key of ENCRYPTION_KEYS; refused while a running process does not have that key',
    )
    .option(
      '--force',
      'continue although processes that ran within the last minute do not have the key',
    )
    .addHelpText(...example('keys reseal'))
    .action(async ({ force }: { force?: boolean }) => {
      const { prepareReseal, reseal } = await import('../../../app/keys/reseal.ts');
      const { recordAudit } = await import('../../../platform/audit/record-audit.ts');
      const { resealed, unopened } = await cli.withServices(async ({ database, secretBox }) => {
        await prepareReseal(database, secretBox, force);
        const report = await cli.withProgress('Reading secrets', (update) =>
          reseal(database, secretBox, undefined, (table, count) =>
            update(`Encrypted ${count} values, now in the table ${table}`),
          ),
        );
        await recordAudit(database, {
          actor: cli.actor,
          action: 'key.reseal',
          target: { type: 'key', id: secretBox.currentKeyId },
          details: { resealed: report.resealed, unopened: report.unopened.length },
        });
        return report;
      });
      cli.print({ resealed, unopened }, `Values encrypted with the newest key: ${resealed}.`);
      if (unopened.length > 0) throw new UnopenedSecretsError(unopened);
    });
};
