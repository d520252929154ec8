import Glibc

/// The content of one of the folders of `objects`.
struct FolderContents {
    private let storage: DiskStorage
    /// The folder's name: two hexadecimal digits.
    private let folder: String
    private let number: UInt8
    /// Whether another item than a directory is in the folder's place.
    private let isPlanted: Bool
    private let names: Set<String>

    init(_ storage: DiskStorage, _ number: UInt8) throws(StorageError) {
        self.storage = storage
        self.number = number
        folder = Self.name(number)
        do throws(StorageError) {
            // Directory entries are names only: the status of each is read later, without following a link.
            let opened = try storage.session.directory.open("objects/\(folder)", O_RDONLY | O_DIRECTORY)
            names = Set(FileListing.names(in: opened))
            isPlanted = false
        } catch .system(_, _, let code) where [ENOENT, ELOOP, ENOTDIR].contains(code) {
            names = []
            isPlanted = code != ENOENT
        }
    }

    /// The first row of the folder's objects. A row is the first 64 bits of the hash, or one of the next places.
    var firstRow: Int64 { Int64(bitPattern: UInt64(number) << 56) }

    var lastRow: Int64 {
        let last = Int64(bitPattern: UInt64(number) << 56 | 0xff_ffff_ffff_ffff)
        return last > .max - EntryKey.probes ? .max : last + EntryKey.probes
    }

    /// Compares the files with the rows. Returns the suspects, and the rows whose files must be read.
    func compare(with rows: [ObjectRow]) -> (suspects: [Suspect], whole: [ObjectRow]) {
        var suspects: [Suspect] = []
        var whole: [ObjectRow] = []
        var strangers = names
        for row in rows where row.object.digest.prefix >> 56 == UInt64(number) {
            let name = row.object.name
            guard row.isInPlace else {
                suspects.append(Suspect(.brokenRow, name, row, "no lookup finds the object in its row"))
                continue
            }
            guard strangers.remove(String(name.dropFirst(3))) != nil, let file = FileIdentity(name, in: storage) else {
                suspects.append(Suspect(.missingFile, name, row, "the file is missing"))
                continue
            }
            if !file.isRegular {
                suspects.append(Suspect(.notAFile, name, row, seen: file, "it is \(file.description)"))
            } else if file.size != row.object.size {
                let sizes = "it has \(file.size) bytes instead of \(row.object.size)"
                suspects.append(Suspect(.wrongSize, name, row, seen: file, sizes))
            } else {
                whole.append(row)
            }
        }
        for name in strangers { suspects += Self.stranger("\(folder)/\(name)", storage).map { [$0] } ?? [] }
        if isPlanted { suspects += Self.stranger(folder, storage).map { [$0] } ?? [] }
        return (suspects, whole)
    }

    /// Returns the items beside the folders.
    static func strangers(_ storage: DiskStorage) -> [Suspect] {
        let folders = Set((UInt8.min...UInt8.max).map(name))
        return storage.session.directory.names(in: "objects").filter { !folders.contains($0) }.compactMap {
            stranger($0, storage)
        }
    }

    private static func stranger(_ name: String, _ storage: DiskStorage) -> Suspect? {
        guard let file = FileIdentity(name, in: storage) else { return nil }
        return file.isRegular
            ? Suspect(.orphan, name, nil, seen: file, "no entry refers to this file (\(file.size) bytes)")
            : Suspect(.notAFile, name, nil, seen: file, "it is \(file.description)")
    }

    private static func name(_ number: UInt8) -> String {
        (number < 16 ? "0" : "") + String(number, radix: 16)
    }
}
