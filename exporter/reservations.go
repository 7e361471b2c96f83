package exporter

import (
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func reservationsCollector() collector {
	return collector{
		name: "reservations", set: Native, help: "advance reservations",
		needs: []slurmclient.Resource{slurmclient.Reservations},
		families: []family{
			{"slurm_reservation_info", gauge, "Always 1; the labels show who may use the reservation and where.",
				[]string{"reservation", "partition", "users", "accounts"},
				readReservations(func(r *slurm.Reservation, out *samples) {
					out.add(1, r.Name, r.Partition, shortenText(r.Users), shortenText(r.Accounts))
				})},
			reservationFamily("slurm_reservation_start_time_seconds", "When the reservation starts, in Unix time.",
				func(r *slurm.Reservation, out *samples) { out.addTime(r.StartTime, r.Name) }),
			reservationFamily("slurm_reservation_end_time_seconds", "When the reservation ends, in Unix time.",
				func(r *slurm.Reservation, out *samples) { out.addTime(r.EndTime, r.Name) }),
			reservationFamily("slurm_reservation_nodes", "Nodes in the reservation.",
				func(r *slurm.Reservation, out *samples) { out.addCount(uint64(r.NodeCount), r.Name) }),
			reservationFamily("slurm_reservation_cores", "Cores in the reservation.",
				func(r *slurm.Reservation, out *samples) { out.addCount(uint64(r.CoreCount), r.Name) }),
		},
	}
}

func reservationFamily(name, help string, put func(r *slurm.Reservation, out *samples)) family {
	return family{name, gauge, help, []string{"reservation"}, readReservations(put)}
}

func readReservations(put func(r *slurm.Reservation, out *samples)) func(*snapshotView, *samples) {
	return func(v *snapshotView, out *samples) {
		for _, r := range v.Reservations.Value {
			put(r, out)
		}
	}
}

func licensesCollector() collector {
	license := func(name, help string, of func(l slurm.License) uint64) family {
		return family{name, gauge, help, []string{"license"}, func(v *snapshotView, out *samples) {
			for _, l := range v.Licenses.Value {
				out.addCount(of(l), l.Name)
			}
		}}
	}
	return collector{
		name: "licenses", set: Native, help: "licences",
		needs: []slurmclient.Resource{slurmclient.Licenses},
		families: []family{
			license("slurm_license_capacity", "Total number of licences.",
				func(l slurm.License) uint64 { return l.Total }),
			license("slurm_license_used", "Licences in use by jobs.", func(l slurm.License) uint64 { return l.Used }),
			license("slurm_license_free", "Licences that are available to jobs.",
				func(l slurm.License) uint64 { return l.Free }),
			license("slurm_license_reserved", "Licences held by reservations.",
				func(l slurm.License) uint64 { return l.Reserved }),
		},
	}
}
