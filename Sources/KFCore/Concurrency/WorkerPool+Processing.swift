import Glibc
import KFStorage
import KFSystem

extension WorkerPool {
    /// For work that computes: one thread a processor, whoever asks, because the processors are the machine's.
    static let processing = WorkerPool(label: "kf.processing", width: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
}
