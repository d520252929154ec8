import Support
import Testing

@testable import KFLists

@Suite("The time to read a list", .bounded)
struct BrokenQuotesTests {
    @Test("Unclosed quotes are read in proportion to the list's length")
    func brokenQuotes() {
        // Each line opens a quote, and keeps one open: without a bound, each costs a megabyte of reading.
        let lines = 300_000
        let text = Array((String(repeating: "a\",\"\n", count: lines) + "b,\"c\"\n").utf8)
        var splitter = RecordSplitter(delimiter: 0x2c)
        let clock = ContinuousClock()
        var records: [ListRecord] = []
        let time = clock.measure {
            splitter.feed(text)
            splitter.finish()
            while let record = splitter.next() { records.append(record) }
        }
        // What lies behind the first megabyte is read with its quotes again, to the last line.
        let longest = RecordSplitter.longest
        #expect(records.count > longest / 6 && records.dropLast().allSatisfy { $0.problem != nil })
        #expect(records.last?.problem == nil && records.flatMap(\.bytes) == text)
        #expect(time < .seconds(20), "\(time)")
    }
}
