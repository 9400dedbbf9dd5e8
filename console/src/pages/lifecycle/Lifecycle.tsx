import { useTranslation } from 'react-i18next';
import { isCut } from '@/live/connection';
import { useLive } from '@/live/LiveProvider';
import { EventFeed } from '@/pages/lifecycle/EventFeed';
import { NotSupervised, Processes } from '@/pages/lifecycle/Processes';
import { rowsOf } from '@/pages/lifecycle/registry';
import { ServiceTable } from '@/pages/lifecycle/ServiceTable';
import { useRegistry } from '@/pages/lifecycle/useRegistry';
import { Page, Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { useNow } from '@/parts/time/useNow';
import './lifecycle.css';

/** Everybody who is registered, as the registry tells it, and what happened to them. */
export function Lifecycle() {
  const { t } = useTranslation('lifecycle');
  const { registry, state, error } = useRegistry();
  const known = registry.seq !== null;
  const orchestrators = rowsOf(registry, 'orchestrator');
  const agents = rowsOf(registry, 'agent');
  const names = Object.fromEntries(orchestrators.map((one) => [one.id, one.name ?? one.url]));
  if (error !== null) {
    return (
      <Page title={t('title')} intro={t('intro')}>
        <ProblemNotice error={error} />
      </Page>
    );
  }
  return (
    <Page title={t('title')} intro={t('intro')} actions={<NotSupervised />}>
      {state.kind === 'waiting' && <Cut retryAt={state.retryAt} />}
      <div className="lifecycle">
        <div className="page-stack">
          <Processes />
          <Panel title={t('orchestrators')} extra={<Count of={orchestrators.length} />} flush>
            <ServiceTable
              kind="orchestrator"
              label={t('orchestrators')}
              rows={known ? orchestrators : undefined}
              names={names}
            />
          </Panel>
          <Panel title={t('agents')} extra={<Count of={agents.length} />} flush>
            <ServiceTable kind="agent" label={t('agents')} rows={known ? agents : undefined} names={names} />
          </Panel>
        </div>
        <Panel title={t('feed.title')} flush>
          <EventFeed feed={registry.feed} />
        </Panel>
      </div>
    </Page>
  );
}

function Count({ of }: { of: number }) {
  return <span className="muted">{of}</span>;
}

/** The registry's line is cut. When the whole coordinator is away, the banner above says so already. */
function Cut({ retryAt }: { retryAt: number }) {
  const { t } = useTranslation('lifecycle');
  const now = useNow();
  if (isCut(useLive().state)) return null;
  return (
    <p className="lifecycle-cut" role="status">
      {t('cut', { seconds: Math.max(0, Math.ceil((retryAt - now) / 1_000)) })}
    </p>
  );
}
