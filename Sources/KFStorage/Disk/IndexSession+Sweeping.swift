import Synchronization

extension IndexSession {
    /// In seconds: how often some process looks for what dead ones left.
    private static let sweepInterval: Int64 = 1800
    /// Where the lock file keeps the time of the last look, behind the counts of reads.
    private static let sweepWord = ReadCounts.words

    /// At the first write of a process: counts the partial bodies, and removes what dead processes left in `tmp`
    /// and sees to the reserve, unless another did so lately.
    func sweep() throws(StorageError) {
        let now = Timestamp.now()
        directory.reapPartials(now: now)
        guard let lock else { return }
        let seconds = now.milliseconds / 1000
        let last = try lock.read(words: Self.sweepWord + 1)[Self.sweepWord]
        // Also when the clock was set back.
        guard last > seconds || last <= seconds - Self.sweepInterval else { return }
        try lock.write(words: [seconds], from: Self.sweepWord)
        directory.reapTemporaries(now: now)
        directory.makeReserve()
    }
}
