import { Injectable, type OnModuleInit } from '@nestjs/common';
import { auditTotals, unprovenAccounts } from '../../accounts/sync-schedule/audit-lists.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { MetricSources } from '../../platform/metrics/metric-sources.ts';
import {
  lastFailoverTime,
  messagesHeld,
  messagesQuarantined,
  queueClaimed,
  queueDue,
  queueOldestDue,
  queueOverdue,
  queueRows,
  webhookMailsFailing,
  webhooks,
  workers,
} from '../../platform/metrics/queue-metrics.ts';
import {
  accountsUnproven,
  auditDifferences,
  audits,
  auditsCompared,
  syncDue,
  syncFailing,
  syncLag,
} from '../../platform/metrics/sync-metrics.ts';
import {
  failingWebhookMails,
  isSilent,
  lastFailover,
  messagesApart,
  queueStates,
  syncStates,
  webhookStates,
  workerStates,
} from './overview.repository.ts';

/** How long values are shown before they are read again, in seconds. */
const SECONDS = { queues: 5, sync: 10, webhooks: 10, workers: 5, audits: 60 };

/** Gives the page of metrics what only the database knows: numbers of the whole installation. */
@Injectable()
export class OverviewMetrics implements OnModuleInit {
  constructor(
    private readonly sources: MetricSources,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.#addQueues();
    this.#addMessages();
    this.#addSync();
    this.#addWebhooks();
    this.#addWorkers();
    this.#addAudits();
    this.#addFailover();
  }

  #addQueues(): void {
    this.sources.add({
      name: 'queues',
      seconds: SECONDS.queues,
      metrics: [queueDue, queueOldestDue, queueClaimed, queueOverdue, queueRows],
      read: async (sql) => {
        const states = await queueStates(sql);
        return () => {
          for (const { queue, ...state } of states) {
            queueDue.set({ queue }, state.due);
            queueOldestDue.set({ queue }, state.oldestDueSeconds);
            queueClaimed.set({ queue }, state.claimed);
            queueOverdue.set({ queue }, state.overdue);
            queueRows.set({ queue }, state.estimatedRows);
          }
        };
      },
    });
  }

  #addMessages(): void {
    this.sources.add({
      name: 'messages',
      seconds: SECONDS.queues,
      metrics: [messagesHeld, messagesQuarantined],
      read: async (sql) => {
        const { held, quarantined } = await messagesApart(sql);
        return () => {
          messagesHeld.set(held);
          messagesQuarantined.set(quarantined);
        };
      },
    });
  }

  #addSync(): void {
    this.sources.add({
      name: 'sync',
      seconds: SECONDS.sync,
      metrics: [syncDue, syncLag, syncFailing],
      read: async (sql) => {
        const states = await syncStates(sql);
        return () => {
          for (const { provider, due, lagSeconds, failing } of states) {
            syncDue.set({ provider }, due);
            syncLag.set({ provider }, lagSeconds);
            syncFailing.set({ provider }, failing);
          }
        };
      },
    });
  }

  #addWebhooks(): void {
    this.sources.add({
      name: 'webhooks',
      seconds: SECONDS.webhooks,
      metrics: [webhooks, webhookMailsFailing],
      read: async (sql) => {
        const states = await webhookStates(sql);
        const mails = await failingWebhookMails(sql, this.clock.now());
        return () => {
          for (const [state, count] of Object.entries(states)) webhooks.set({ state }, count);
          webhookMailsFailing.set(mails);
        };
      },
    });
  }

  #addWorkers(): void {
    this.sources.add({
      name: 'workers',
      seconds: SECONDS.workers,
      metrics: [workers],
      read: async (sql) => {
        const states = await workerStates(sql);
        const silent = states.filter(isSilent).length;
        return () => {
          workers.set({ state: 'alive' }, states.length - silent);
          workers.set({ state: 'silent' }, silent);
        };
      },
    });
  }

  #addFailover(): void {
    this.sources.add({
      name: 'failover',
      seconds: SECONDS.workers,
      metrics: [lastFailoverTime],
      read: async (sql) => {
        const last = await lastFailover(sql);
        return () => lastFailoverTime.set(last?.atSeconds ?? 0);
      },
    });
  }

  #addAudits(): void {
    this.sources.add({
      name: 'audits',
      seconds: SECONDS.audits,
      metrics: [audits, auditsCompared, auditDifferences, accountsUnproven],
      read: async (sql) => {
        const totals = await auditTotals(sql);
        const unproven = await unprovenAccounts(sql, this.clock.now());
        return () => {
          for (const [reason, count] of Object.entries(unproven))
            accountsUnproven.set({ reason }, count);
          for (const { kind, ...total } of totals) {
            audits.inc({ kind }, total.audits);
            auditsCompared.inc({ kind }, total.compared);
            for (const difference of ['missing', 'surplus', 'changed'] as const)
              auditDifferences.inc({ kind, difference }, total[difference]);
          }
        };
      },
    });
  }
}
