import Foundation
import Support
import Testing

@testable import KFNetwork

@Suite("Options of transfers")
struct TransferOptionsTests {
    @Test("Copied requests share their terms until a change") func shared() {
        var first = TransferRequest(url: "http://a.test/")
        let second = first
        #expect(first.terms === second.terms)
        first.options.timeout = .seconds(1)
        first.options.maxBytes = 7
        #expect(first.terms !== second.terms)
        #expect(first.options.timeout == .seconds(1) && first.terms.timeoutSpan == 1_000_000_000)
        #expect(second.options.timeout == .seconds(15) && second.terms.timeoutSpan == 15_000_000_000)
        #expect(second.options.maxBytes == 256 << 20)
        first.options.timeout = nil
        #expect(first.terms.timeoutSpan == .max)
        first.options.timeout = .zero
        #expect(first.options.timeout == .seconds(15))
    }

    @Test("Different paths of one cookie jar are equal") func cookieJar() throws {
        let directory = try TemporaryDirectory()
        let root = directory.url.resolvingSymlinksInPath().path
        var options = TransferOptions()
        for (path, expected) in [
            ("new", "new"), ("./new", "new"), ("naïve jar", "naïve jar"), ("gone/new", "gone/new"),
        ] {
            options.cookieJar = "\(root)/\(path)"
            #expect(options.cookieJar == "\(root)/\(expected)")
        }
        options.cookieJar = "\(root)/new/"
        #expect(options.cookieJar == "\(root)/new/")
    }

    @Test("The accepted statuses can be changed") func statuses() {
        var options = TransferOptions()
        let standard = TransferTerms(options)
        #expect(standard.accepts(200) && standard.accepts(203) && !standard.accepts(404))
        options.acceptedStatus = [404]
        let changed = TransferTerms(options)
        #expect(!changed.accepts(200) && changed.accepts(404))
    }
}
