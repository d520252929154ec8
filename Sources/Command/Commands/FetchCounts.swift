import KFCore
import Synchronization

/// The numbers of files that were written, and that had the same bytes already, and of sources that were left out.
final class FetchCounts: Sendable {
    let written = Atomic(0)
    let unchanged = Atomic(0)
    let filtered = Atomic(0)
    let optedOut = Atomic(0)

    /// Adds the reports of a source, one for each variant.
    func add(_ reports: [ItemReport]) {
        for report in reports {
            switch report.copy?.state {
            case .written?: written.add(1, ordering: .relaxed)
            case .unchanged?: unchanged.add(1, ordering: .relaxed)
            case .left?, nil: break
            }
        }
        guard let report = reports.first(where: { $0.leftOut != nil }) else { return }
        if report.status == "filtered" {
            filtered.add(1, ordering: .relaxed)
        } else {
            optedOut.add(1, ordering: .relaxed)
        }
    }

    /// The numbers of sources that were left out, in text; nil for none.
    var leftOut: String? {
        let numbers = [
            (filtered.load(ordering: .relaxed), "filtered"), (optedOut.load(ordering: .relaxed), "opted out"),
        ]
        let parts = numbers.filter { $0.0 > 0 }.map { "\($0) \($1)" }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
