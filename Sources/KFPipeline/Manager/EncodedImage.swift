import Glibc
import KFStorage
import KFTerms

/// The encoded bytes of a result, read piece by piece. A file's first piece is read at once, so that an image that
/// cannot be read fails before anything of it is written.
package struct EncodedImage: Sendable {
    private enum Content: Sendable {
        case memory([UInt8])
        case file(CachedFile, first: [UInt8])
    }

    /// Most images are one piece.
    private static let piece = 1 << 20

    private let content: Content

    /// Opens the image. Blocks.
    package init(_ result: RetrieveImageResult) throws(KingfisherError) {
        let file: CachedFile
        switch result.content {
        case .file(let open): file = open
        case .stored(let stored): file = try stored.open()
        case .bytes, .memory:
            content = .memory(try result.loadData())
            return
        }
        content = .file(file, first: try file.read(at: 0, count: Int(min(file.size, Int64(Self.piece)))))
    }

    /// The image without the bytes that can be read again.
    package var atRest: EncodedImage {
        guard case .file(let file, _) = content else { return self }
        return EncodedImage(.file(file, first: []))
    }

    private init(_ content: Content) { self.content = content }

    package var size: Int64 {
        switch content {
        case .memory(let bytes): Int64(bytes.count)
        case .file(let file, _): file.size
        }
    }

    /// Calls `body` with the pieces in their order. Blocks.
    package func forEachPiece(_ body: (UnsafeRawBufferPointer) throws(KingfisherError) -> Void) throws(KingfisherError)
    {
        switch content {
        case .memory(let bytes): try bytes.withBytes(body)
        case .file(let file, let first):
            try first.withBytes(body)
            var position = Int64(first.count)
            while position < file.size {
                let bytes = try file.read(at: position, count: Int(min(file.size - position, Int64(Self.piece))))
                try bytes.withBytes(body)
                position += Int64(bytes.count)
            }
        }
    }
}
