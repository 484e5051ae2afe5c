import fs from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { releaseNotes, ReleaseError, sectionOf } from '../../scripts/lib/changelog.ts';
import { settingsOf, stagesOf, wordsOf } from '../../scripts/lib/dockerfile.ts';
import { ROOT } from '../../scripts/lib/project.ts';
import { environmentSchema, loadConfig } from '../../src/platform/config/app-config.ts';

const read = (file: string): string => fs.readFileSync(path.join(ROOT, file), 'utf8');
const below = (folder: string): string[] =>
  fs.readdirSync(path.join(ROOT, folder)).map((name) => `${folder}/${name}`);

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}
interface Container {
  name: string;
  env?: { name: string }[];
  [field: string]: unknown;
}
interface Workload extends Manifest {
  spec: { template: { spec: { containers: Container[]; terminationGracePeriodSeconds?: number } } };
}

/** Examples are left out: they are of kinds that other projects define, whose schemas we lack. */
const MANIFESTS = below('deploy/kubernetes').filter(
  (file) => !file.includes('kustomization') && !file.includes('.example.'),
);
const manifests = MANIFESTS.flatMap((file) =>
  parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest),
);
const workloads = manifests.filter(({ kind }) =>
  ['Deployment', 'Job'].includes(kind),
) as Workload[];
const containers = workloads.flatMap(({ spec }) => spec.template.spec.containers);

describe('the manifests for Kubernetes', () => {
  it.each(manifests.map((manifest) => [manifest.kind, manifest.metadata.name, manifest] as const))(
    'contain a valid %s %s',
    async (kind, _name, manifest) => {
      const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Record<
        string,
        new (data: Manifest) => { validate(): void }
      >;
      const Model = models[kind];
      expect(Model).toBeDefined();
      if (Model) expect(() => new Model(manifest).validate()).not.toThrow();
    },
  );

  it('are all listed in kustomization.yaml, but for examples', () => {
    const { resources } = parse(read('deploy/kubernetes/kustomization.yaml')) as {
      resources: string[];
    };
    const names = MANIFESTS.map((file) => path.basename(file));
    expect(resources.toSorted()).toEqual(names.toSorted());
  });

  it('leave the name of the image to the file of the operator, as the page shows', () => {
    // An image that is renamed here could not be renamed by its first name there.
    expect(parse(read('deploy/kubernetes/kustomization.yaml'))).not.toHaveProperty('images');
    for (const { image } of containers) expect(image).toBe('carillon');
    const [, own = ''] = /```yaml\n([\s\S]*?)```/.exec(read('docs/kubernetes.md')) ?? [];
    expect(parse(own)).toMatchObject({
      resources: ['../kubernetes'],
      images: [{ name: 'carillon' }],
      configMapGenerator: [{ name: 'carillon-config', behavior: 'merge' }],
    });
  });

  it('run every container without rights and on a read-only file system', () => {
    expect(containers).toHaveLength(3);
    for (const container of containers) {
      expect(container['securityContext']).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container).toMatchObject({ resources: { limits: { memory: expect.any(String) } } });
    }
  });

  it('give a stopping process longer than SHUTDOWN_SECONDS and the pause before it', () => {
    const shutdown = environmentSchema.shape.SHUTDOWN_SECONDS.parse(undefined);
    for (const { kind, spec } of workloads) {
      if (kind !== 'Deployment') continue;
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(shutdown + 5 + 10);
    }
  });
});

describe('the examples for Kubernetes', () => {
  interface Monitor {
    spec: {
      jobLabel: string;
      selector: { matchLabels: Record<string, string> };
      podMetricsEndpoints: { port: string }[];
    };
  }
  interface Pods {
    metadata: { labels: Record<string, string> };
    spec: { containers: { ports?: { name: string }[] }[] };
  }
  const example = (name: string) =>
    parseAllDocuments(read(`deploy/kubernetes/${name}.example.yaml`)).map(
      (document) => document.toJS() as unknown,
    );
  const pods = manifests
    .filter(({ kind }) => kind === 'Deployment')
    .map((each) => (each as unknown as { spec: { template: Pods } }).spec.template);
  const [monitor] = example('pod-monitor') as [Monitor];

  it('monitor the processes of both roles at a port that they have', () => {
    const { selector, podMetricsEndpoints } = monitor.spec;
    expect(pods).toHaveLength(2);
    for (const { metadata, spec } of pods) {
      expect(metadata.labels).toMatchObject(selector.matchLabels);
      const ports = spec.containers.flatMap((container) => container.ports ?? []);
      for (const { port } of podMetricsEndpoints)
        expect(ports.map(({ name }) => name)).toContain(port);
    }
  });

  it('give metrics the job by which the rules and the autoscaler find them', () => {
    const jobs = pods.map(({ metadata }) => metadata.labels[monitor.spec.jobLabel]);
    const used = [
      read('deploy/alerts.yml'),
      read('deploy/kubernetes/worker-lateness.example.yaml'),
      read('docs/monitoring.md').replaceAll(/job_name: (\w+)/g, 'job="$1"'),
    ].map((text) => new Set([...text.matchAll(/\bjob="([^"]*)"/g)].map(([, job]) => job)));
    for (const names of used) expect([...names]).toEqual(['carillon']);
    expect(new Set(jobs)).toEqual(new Set(['carillon']));
  });

  it('route to a port of the service, and scale a deployment that exists', () => {
    const [, route] = example('gateway') as [
      unknown,
      { spec: { rules: { backendRefs: { name: string; port: number }[] }[] } },
    ];
    const [backend] = route.spec.rules.flatMap(({ backendRefs }) => backendRefs);
    const service = manifests.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name === backend?.name,
    ) as unknown as { spec: { ports: { port: number }[] } };
    expect(service.spec.ports.map(({ port }) => port)).toContain(backend?.port);
    const [scaled] = example('worker-lateness') as [
      { metadata: { name: string }; spec: { scaleTargetRef: { name: string } } },
    ];
    const names = workloads.map(({ metadata }) => metadata.name);
    expect(names).toContain(scaled.spec.scaleTargetRef.name);
  });

  it('have the connections to PostgreSQL that the page says, for the fewest and the most processes', () => {
    const replicas = (name: string) => {
      const scaler = manifests.find(
        ({ kind, metadata }) => kind === 'HorizontalPodAutoscaler' && metadata.name === name,
      ) as unknown as { spec: { minReplicas: number; maxReplicas: number } };
      return scaler.spec;
    };
    const [api, worker] = [replicas('carillon-api'), replicas('carillon-worker')];
    const connections = (role: string) =>
      loadConfig({
        DATABASE_URL: 'postgresql://localhost/carillon',
        ENCRYPTION_KEYS: `main:${Buffer.alloc(32).toString('base64')}`,
        ROLES: role,
      }).database.connections;
    // A rollout adds one process of each role; ten connections are for commands.
    const total = (apis: number, workers: number) =>
      (apis + 1) * connections('api') + (workers + 1) * connections('worker') + 10;
    const page = read('docs/kubernetes.md');
    const { minReplicas: a, maxReplicas: A } = api;
    const { minReplicas: w, maxReplicas: W } = worker;
    expect(page).toContain(`| fewest: ${a} \`api\`, ${w} \`worker\` | ${total(a, w)} |`);
    expect(page).toContain(`| most: ${A} \`api\`, ${W} \`worker\` | ${total(A, W)} |`);
  });
});

describe('the settings in files of deployment', () => {
  const known = Object.keys(environmentSchema.shape);

  it('are variables that Carillon reads', () => {
    const kustomization = parse(read('deploy/kubernetes/kustomization.yaml')) as {
      configMapGenerator: { literals: string[] }[];
    };
    const compose = parse(read('docker-compose.yml'), { merge: true }) as {
      services: Record<string, { environment: Record<string, string> }>;
    };
    const unit = read('deploy/systemd/carillon@.service');
    const names = [
      ...kustomization.configMapGenerator.flatMap(({ literals }) =>
        literals.map((literal) => literal.split('=')[0]),
      ),
      ...containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
      ...Object.keys(compose.services['api']?.environment ?? {}),
      ...[...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) =>
        line.split(' ').map((each) => each.split('=')[0]),
      ),
    ];
    expect(names.length).toBeGreaterThan(12);
    expect(names.filter((name) => !known.includes(name ?? ''))).toEqual([]);
  });

  it('start the program as the image does', () => {
    const [, entry = ''] = /^ENTRYPOINT \[(.*)\]$/m.exec(read('Dockerfile')) ?? [];
    const [node, ...options] = entry.split(', ').map((each) => JSON.parse(each) as string);
    expect(read('deploy/systemd/carillon@.service')).toContain(
      `ExecStart=/usr/bin/env ${node} ${options.join(' ')} dist/src/main.js\n`,
    );
  });
});

describe('docker-compose.yml', () => {
  interface Service {
    image: string;
    environment?: Record<string, string>;
    env_file?: { path: string; required: boolean }[];
    ports?: string[];
    logging?: { options: Record<string, string> };
    cap_drop: string[];
    cap_add?: string[];
  }
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, Service>;
  };
  const all = Object.entries(services);
  /** Variables that Compose sets itself, whatever .env says. */
  const OWN = ['DATABASE_URL', 'HOST', 'NODE_ENV', 'OPERATOR_HOST', 'ROLES'];
  /** Variables with the value of .env, or another default than the page says. */
  const DEFAULTS = [
    'BASE_URL',
    'ENCRYPTION_KEYS',
    'OPERATOR_TRUST_PROXY',
    'OPERATOR_URL',
    'TRUST_PROXY',
  ];
  /** Variables that mean a port of the machine in .env. */
  const PORTS = ['OPERATOR_PORT', 'PORT'];

  it('passes every variable of .env to the processes, but for those of Compose itself', () => {
    for (const name of ['api', 'worker', 'migrate']) {
      const { env_file, environment = {} } = services[name] ?? {};
      expect(env_file).toEqual([{ path: '.env', required: false }]);
      const set = Object.keys(environment).filter((each) => each !== 'ROLES');
      expect([...set, 'ROLES'].toSorted()).toEqual([...OWN, ...DEFAULTS, ...PORTS].toSorted());
      for (const each of DEFAULTS) expect(environment[each]).toMatch(`\${${each}:`);
    }
    const page = read('docs/deployment.md');
    for (const each of OWN) expect(page).toContain(`\`${each}\``);
  });

  it('publishes ports on the loopback interface unless PUBLISH_ADDRESS says otherwise', () => {
    expect(all.flatMap(([, { ports = [] }]) => ports)).toEqual([
      '${PUBLISH_ADDRESS:-127.0.0.1}:${PORT:-3000}:3000',
      '127.0.0.1:${OPERATOR_PORT:-9400}:9400',
    ]);
  });

  it('limits the logs of every service, and drops the capabilities that it does not need', () => {
    for (const [name, { logging, cap_drop, cap_add = [] }] of all) {
      expect([name, logging?.options]).toEqual([name, { 'max-size': '50m', 'max-file': '5' }]);
      expect([name, cap_drop]).toEqual([name, ['ALL']]);
      expect([name, cap_add.length]).toEqual([name, name === 'postgres' ? 5 : 0]);
    }
  });
});

describe('the compose file with a standby', () => {
  interface Service {
    environment?: Record<string, string>;
    volumes?: string[];
    cap_drop?: string[];
  }
  const services = (file: string) =>
    (parse(read(file), { merge: true }) as { services: Record<string, Service> }).services;
  const base = services('docker-compose.yml');
  const added = services('deploy/failover/compose.yml');

  it('changes services that exist, and adds none with rights', () => {
    const isNew = (name: string) => !(name in base);
    expect(Object.keys(added).filter(isNew)).toEqual(['standby', 'haproxy']);
    for (const name of ['standby', 'haproxy']) expect(added[name]?.cap_drop).toEqual(['ALL']);
    const names = Object.keys(added['api']?.environment ?? {});
    expect(names.filter((name) => !(name in environmentSchema.shape))).toEqual([]);
    expect(names).toContain('DATABASE_URL');
  });

  it('mounts files that exist', () => {
    const mounts = Object.values(added).flatMap(({ volumes = [] }) => volumes);
    const files = mounts.filter((mount) => mount.startsWith('./'));
    expect(files.length).toBeGreaterThan(3);
    for (const file of files)
      expect(fs.existsSync(path.join(ROOT, file.split(':')[0] ?? ''))).toBe(true);
  });

  it('asks both servers of PostgreSQL in its protocol whether they accept writes, and cuts old connections', () => {
    const config = read('deploy/failover/haproxy.cfg');
    const [start, query] = [...config.matchAll(/send-binary ([0-9a-f]+)/g)].map(([, hex = '']) =>
      Buffer.from(hex, 'hex'),
    );
    expect(start?.readInt32BE(0)).toBe(start?.length);
    expect(start?.subarray(8).toString()).toBe('user\0haproxy\0database\0postgres\0\0');
    expect(query?.readInt32BE(1)).toBe((query?.length ?? 0) - 1);
    expect(query?.subarray(5).toString()).toBe('select pg_is_in_recovery()\0');
    expect(config).toContain('on-marked-down shutdown-sessions');
    const servers = [...config.matchAll(/^ {2}server (\w+) (\w+):5432$/gm)].map(([, name]) => name);
    expect(servers).toEqual(['postgres', 'standby']);
    expect(Object.keys(added)).toEqual(expect.arrayContaining(servers));
  });
});

describe('the Dockerfile, as npm run try-image reads it', () => {
  it('has a stage that builds and a last stage with the command', () => {
    const [build, image, ...more] = stagesOf(read('Dockerfile'));
    expect(more).toEqual([]);
    expect(build).toMatchObject({ name: 'build' });
    const [compile] =
      build?.instructions.filter(({ rest }) => rest.includes('npm run build')) ?? [];
    expect(compile?.rest).toContain('else npm ci --omit=dev --omit=optional; fi');
    expect(image?.name).toBeNull();
    const [environment] = image?.instructions.filter(({ name }) => name === 'ENV') ?? [];
    expect(settingsOf(environment?.rest ?? '')).toMatchObject({ NODE_ENV: 'production' });
    const [command] = image?.instructions.filter(({ name }) => name === 'CMD') ?? [];
    expect(wordsOf(command?.rest ?? '[]')).toEqual(['dist/src/main.js']);
  });
});

describe('the workflows', () => {
  it('pin every action of others to a commit', () => {
    const uses = below('.github/workflows').flatMap((file) =>
      [...read(file).matchAll(/uses: (\S+.*)$/gm)].map(([, action]) => action),
    );
    expect(uses.length).toBeGreaterThan(10);
    for (const action of uses) expect(action).toMatch(/^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it('call only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const called = below('.github/workflows').flatMap((file) =>
      [...read(file).matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name),
    );
    expect(called.filter((name) => !(name in scripts))).toEqual([]);
  });
});

describe('the notes of a release', () => {
  const files: Record<string, string> = {
    'package.json': '"version": "1.2.3"',
    'package-lock.json': '"version": "1.2.3"',
    'clients/typescript/package.json': '"version": "1.2.3"',
    'deploy/kubernetes/kustomization.yaml': 'newTag: 1.2.3',
    'CHANGELOG.md': '# Changelog\n\n## 1.2.3 (2026-12-01)\n\n- New.\n\n## 1.2.2\n\n- Old.\n',
  };

  it('are the section of the changelog that has the version of the tag', () => {
    expect(releaseNotes('v1.2.3', (file) => files[file])).toBe('- New.\n');
    expect(sectionOf(files['CHANGELOG.md'] ?? '', '1.2.2')).toBe('- Old.');
    expect(sectionOf(files['CHANGELOG.md'] ?? '', '1.2')).toBeUndefined();
  });

  it('are refused, with the reasons, if a file names another version', () => {
    const refused = () =>
      releaseNotes('v1.3.0', (file) =>
        file === 'package.json' ? '"version": "1.3.0"' : files[file],
      );
    expect(refused).toThrow(ReleaseError);
    expect(refused).toThrow('deploy/kubernetes/kustomization.yaml names version 1.2.3, not 1.3.0');
    expect(refused).toThrow('CHANGELOG.md has no section 1.3.0');
  });
});
