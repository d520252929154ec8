import Foundation
import KFImaging
import Support
import Testing

@testable import KFCore

@Suite("The display of an image that is still arriving", .bounded)
struct ProgressiveDisplayTests {
    @Test("A part of a progressive JPEG is shown before its end")
    func part() async throws {
        let jpeg = try ManagerFixture.fixture("jpeg/progressive.jpg")
        let isShown = DispatchSemaphore(value: 0)
        let server = try FaultServer { _ in
            [
                .head("HTTP/1.1 200 OK", "Content-Length: \(jpeg.count)"), .send(Array(jpeg[..<(jpeg.count / 2)])),
                // Bounded, so that a missing picture is a failure.
                .call { _ = isShown.wait(timeout: .now() + 60) }, .send(Array(jpeg[(jpeg.count / 2)...])),
            ]
        }
        let (arrived, atFirst) = (SharedValue<[UInt8]>([]), SharedValue<(width: Int, bytes: Int)?>(nil))
        let result = try await ManagerFixture().get(
            ManagerFixture.options {
                $0.request.proxy = ""
                $0.request.timeout = .seconds(600)
                $0.request.onDataReceived = { bytes in arrived.change { $0.append(contentsOf: bytes) } }
                $0.progressiveJPEG = { picture in
                    atFirst.change { $0 = $0 ?? (picture.width, arrived.value.count) }
                    isShown.signal()
                }
            }, from: server.url("/a.jpg"))
        let first = try #require(atFirst.value)
        #expect(first.width == result.facts.width && first.bytes <= jpeg.count / 2)
        // The other receiver gets all bytes, too. An expectation would compare them one by one.
        let areEqual = arrived.value == jpeg
        #expect(areEqual)
    }
}
