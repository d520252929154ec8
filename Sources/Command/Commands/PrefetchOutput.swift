import KFCore
import Synchronization

/// The results of a run: the lines of standard output, and the files of `--results`, `--failures` and `--srcset`. With
/// `--ordered` or `--srcset` they follow the list.
final class PrefetchOutput: Sendable {
    /// The maximum number of items whose results wait for those before them, approximately.
    static let mostWaiting = 16_384

    private struct Part {
        let lines: [String]
        let rows: ResultsFile.Rows?
        let failed: PrefetchItem?
        let markup: String?
    }

    private struct Gathered: ~Copyable {
        var failures: FailureFile?
        var results: ResultsFile?
        /// The lines for standard output that are not written yet, without the last newline.
        var lines = ""
        /// The results that wait, by the positions of their items, and the position of the next one.
        var waiting: [Int: Part] = [:]
        var next = 1
    }

    let isOrdered: Bool
    /// Whether the reports of every item are needed.
    let hasRows: Bool
    private let srcset: SrcsetFile?
    private let state: Mutex<Gathered>

    init(
        failures: consuming FailureFile?, results: consuming ResultsFile?, srcset: SrcsetFile?, isOrdered: Bool
    ) {
        self.isOrdered = isOrdered || srcset != nil
        self.srcset = srcset
        hasRows = srcset != nil || results != nil
        state = Mutex(Gathered(failures: failures, results: results))
    }

    /// The reason why one of the files is not complete, with the option that names it; nil while both are.
    var problem: String? {
        state.withLock { state in
            if let problem = state.failures?.problem { return "--failures: \(problem)" }
            if let problem = state.results?.problem { return "--results: \(problem)" }
            return srcset?.problem.map { "--srcset: \($0)" }
        }
    }

    /// Takes the results of an item: its lines for standard output, and its reports if `hasRows`.
    func take(_ item: PrefetchItem, lines: [String], _ reports: [ItemReport], hasFailed: Bool) {
        // Most hits of a list have nothing to write.
        if !isOrdered, !hasFailed, lines.isEmpty, !hasRows { return }
        state.withLock { state in
            let part = Part(
                lines: lines, rows: state.results?.rows(item, reports),
                failed: hasFailed && state.failures != nil ? item : nil, markup: srcset?.text(reports))
            guard isOrdered else { return write(part, &state) }
            state.waiting[item.position] = part
            while let part = state.waiting.removeValue(forKey: state.next) {
                state.next += 1
                write(part, &state)
            }
        }
    }

    /// Writes the lines that have been gathered. A write for each line would cost as much as the line.
    func flush() { state.withLock { Self.flush(&$0) } }

    private static func flush(_ state: inout Gathered) {
        if !state.lines.isEmpty { Terminal.print(state.lines) }
        state.lines = ""
        state.results?.flush()
    }

    /// Writes what still waits for items that have not ended: those of a run that was cut off. The files of an earlier run
    /// stay if this run had nothing to do because of its lists, and that of `--srcset` if it was not `isWhole`.
    func finish(_ common: CommonSettings, hadItems: Bool, isWhole: Bool) -> ExitStatus {
        state.withLock { state in
            for (_, part) in state.waiting.sorted(by: { $0.key < $1.key }) { write(part, &state) }
            state.waiting = [:]
            if hadItems {
                state.results?.finish()
                state.failures?.finish()
            }
            Self.flush(&state)
        }
        return srcset?.finish(common, isWhole: isWhole) ?? .success
    }

    private func write(_ part: Part, _ state: inout Gathered) {
        for line in part.lines {
            if !state.lines.isEmpty { state.lines += "\n" }
            state.lines += line
        }
        if let rows = part.rows { state.results?.append(rows) }
        if let item = part.failed { state.failures?.add(item) }
        if let markup = part.markup { srcset?.append(markup) }
        if state.lines.utf8.count >= AppendedFile.block { Self.flush(&state) }
    }
}
