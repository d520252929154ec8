import Testing

@testable import KFNetwork

@Suite("Options of transfers")
struct TransferOptionsTests {
    @Test func areTheirOwnAfterAChange() {
        var first = TransferOptions()
        let second = first
        #expect(first.isCopy(of: second))
        first.timeout = .seconds(1)
        first.maxBytes = 7
        #expect(!first.isCopy(of: second))
        #expect(first.timeout == .seconds(1) && first.timeoutSpan == 1_000_000_000)
        #expect(second.timeout == .seconds(15) && second.timeoutSpan == 15_000_000_000)
        #expect(second.maxBytes == 256 << 20)
        #expect(TransferOptions().maxBytes == 256 << 20)
        first.timeout = nil
        #expect(first.timeoutSpan == .max)
    }

    @Test func acceptWhatTheySay() {
        var options = TransferOptions()
        #expect(options.accepts(200) && options.accepts(203) && !options.accepts(404))
        options.acceptedStatus = [404]
        #expect(!options.accepts(200) && options.accepts(404))
    }
}
