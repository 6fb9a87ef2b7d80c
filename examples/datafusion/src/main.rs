//! Queries of tenants under limits: DataFusion counts the memory of its operators in a budget of Toft.
//!
//!     cargo run --release [TENANTS] [QUERIES]
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use datafusion::arrow::array::Int64Array;
use datafusion::common::resources_datafusion_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use toft::{Budget, BudgetOptions};

/// The memory of a tenant's operators, counted in its budget.
#[derive(Debug)]
struct Pool {
    budget: Budget,
    /// Bytes that operators have although a limit refused them: `grow` cannot fail.
    refused: AtomicUsize,
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {} bytes", self.budget.name(), self.reserved(), self.budget.limit())
    }
}

impl MemoryPool for Pool {
    fn name(&self) -> &str {
        self.budget.name()
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        if self.budget.charge(additional).is_err() {
            self.refused.fetch_add(additional, Relaxed);
        }
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        let paid = self.refused.fetch_update(Relaxed, Relaxed, |refused| Some(refused.saturating_sub(shrink)));
        self.budget.uncharge(shrink - paid.unwrap_or(0).min(shrink));
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.budget.charge(additional).map_err(|_| {
            resources_datafusion_err!(
                "{} requests {additional} bytes beyond {}; {self}",
                reservation.consumer().name(),
                reservation.size()
            )
        })
    }

    fn reserved(&self) -> usize {
        self.budget.reserved() + self.refused.load(Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.budget.limit())
    }
}

const PROCESS: usize = 64 << 20;
const TENANT: usize = 16 << 20;

#[derive(Default)]
struct Served {
    served: usize,
    refused: usize,
    peak: usize,
}

/// Groups that many rows into as many groups, and returns the sum over the groups.
async fn query(context: &SessionContext, rows: i64) -> Result<i64> {
    let sql = format!(
        "SELECT sum(n) FROM (SELECT value * 7919 % {rows} AS k, count(*) AS n FROM generate_series(1, {rows}) GROUP BY k)"
    );
    let batches = context.sql(&sql).await?.collect().await?;
    let sums = batches[0].column(0).as_any().downcast_ref::<Int64Array>().expect("a column of integers");
    Ok(sums.value(0))
}

/// Each tenth query of the first two tenants has more groups than their limit allows. The first may not write to the disk, so
/// it is refused; the second is served, since the operator then writes its groups to a file.
async fn serve(process: Budget, tenant: usize, queries: usize) -> Result<Served> {
    let options = BudgetOptions::new().name(format!("tenant {tenant}")).limit(TENANT);
    let budget = process.child(options);
    let pool = Arc::new(Pool { budget: budget.clone(), refused: AtomicUsize::new(0) });
    let mode = if tenant == 0 { DiskManagerMode::Disabled } else { DiskManagerMode::OsTmpDirectory };
    let disk = DiskManagerBuilder::default().with_mode(mode);
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).with_disk_manager_builder(disk).build_arc()?;
    let context = SessionContext::new_with_config_rt(SessionConfig::new().with_target_partitions(2), runtime);
    let mut served = Served::default();
    for i in 0..queries {
        let large = tenant < 2 && i % 10 == 9;
        let rows = if large { 1_000_000 } else { 20_000 };
        match query(&context, rows).await {
            Ok(sum) => {
                assert!(sum == rows && !(large && tenant == 0), "tenant {tenant}, query {i}: {sum}");
                served.served += 1;
            }
            Err(error) => {
                assert!(matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)), "{error}");
                assert!(large && tenant == 0, "tenant {tenant}, query {i}: {error}");
                served.refused += 1;
            }
        }
    }
    // The tasks of a refused query end after the query.
    while budget.reserved() != 0 {
        tokio::task::yield_now().await;
    }
    served.peak = budget.peak();
    Ok(served)
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let (tenants, queries) = (arguments.next().unwrap_or(4), arguments.next().unwrap_or(50));
    let process = Budget::new(BudgetOptions::new().name("process").limit(PROCESS));
    let begin = Instant::now();
    let tasks: Vec<_> = (0..tenants).map(|tenant| tokio::spawn(serve(process.clone(), tenant, queries))).collect();
    for (tenant, task) in tasks.into_iter().enumerate() {
        let s = task.await.expect("no panic")?;
        let peak = s.peak as f64 / 1e6;
        println!("tenant {tenant}: {} queries served, {} refused, at most {peak:.1} MB", s.served, s.refused);
        assert!(s.peak <= TENANT);
        assert_eq!(s.refused, if tenant == 0 { queries / 10 } else { 0 });
    }
    let peak = process.peak() as f64 / 1e6;
    println!("process: at most {peak:.1} of {:.1} MB, {:.1} s", PROCESS as f64 / 1e6, begin.elapsed().as_secs_f64());
    assert!(process.peak() <= PROCESS && process.reserved() == 0);
    Ok(())
}
