import { Module } from '@nestjs/common';
import { ApplicationsModule } from '../../accounts/applications/applications.module.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { OperatorAccountsModule } from '../accounts/operator-accounts.module.ts';
import { OperatorApplicationsModule } from '../applications/operator-applications.module.ts';
import { OperatorAuditModule } from '../audit/operator-audit.module.ts';
import { OperatorApiUseModule } from '../api-use/operator-api-use.module.ts';
import { OperatorCapacityModule } from '../capacity/operator-capacity.module.ts';
import { OperatorJobsModule } from '../jobs/operator-jobs.module.ts';
import { OperatorInstanceModule } from '../instance/operator-instance.module.ts';
import { LogLevelModule } from '../log-level/log-level.module.ts';
import { OverviewModule } from '../overview/overview.module.ts';
import { SyncModule } from '../../sync/sync.module.ts';
import { OperatorWebhooksModule } from '../webhooks/operator-webhooks.module.ts';
import { ConsoleAccountsController } from './accounts.controller.ts';
import { ConsoleApplicationsController } from './applications/applications.controller.ts';
import { ConsoleAssetsController } from './assets.controller.ts';
import { ConsoleAuditController } from './audit.controller.ts';
import { ConsoleCapacityController } from './capacity.controller.ts';
import { ConsoleJobsController } from './jobs.controller.ts';
import { ConsoleLogLevelController } from './log-level.controller.ts';
import { ConsoleMissingController } from './missing.controller.ts';
import { ConsoleInstanceController } from './instance/instance.controller.ts';
import { ConsoleOperatorTokensController } from './operators/operator-tokens.controller.ts';
import { ConsoleOperatorsController } from './operators/operators.controller.ts';
import { ConsoleOwnPasswordController } from './operators/own-password.controller.ts';
import { ConsoleOverviewController } from './overview.controller.ts';
import { MessageContent } from './preview/message-content.ts';
import { ConsoleSignInController } from './sign-in.controller.ts';
import { ConsoleTokensController } from './tokens.controller.ts';
import { ConsoleWebhooksController } from './webhooks.controller.ts';

/** The web pages of operators, below `/console` (docs/console.md). */
@Module({
  imports: [
    SyncModule,
    GrantsModule,
    ApplicationsModule,
    OverviewModule,
    OperatorJobsModule,
    OperatorAccountsModule,
    OperatorWebhooksModule,
    OperatorApplicationsModule,
    OperatorApiUseModule,
    OperatorCapacityModule,
    OperatorAuditModule,
    OperatorInstanceModule,
    LogLevelModule,
  ],
  controllers: [
    ConsoleAssetsController,
    ConsoleSignInController,
    ConsoleOverviewController,
    ConsoleJobsController,
    ConsoleTokensController,
    ConsoleAccountsController,
    ConsoleWebhooksController,
    ConsoleApplicationsController,
    ConsoleCapacityController,
    ConsoleAuditController,
    ConsoleOperatorTokensController,
    ConsoleOperatorsController,
    ConsoleOwnPasswordController,
    ConsoleInstanceController,
    ConsoleLogLevelController,
    ConsoleMissingController,
  ],
  providers: [MessageContent],
})
export class ConsoleModule {}
