set -e
mkdir -p /run/mysqld /data
chown mysql /run/mysqld /data
mariadb-install-db --user=mysql --datadir=/data --auth-root-authentication-method=socket >/dev/null
cat >/tmp/init.sql <<SQL
CREATE USER IF NOT EXISTS slurm@'%' IDENTIFIED BY 'of the test';
GRANT ALL ON slurm_acct_db.* TO slurm@'%';
SQL
chmod 644 /tmp/init.sql
exec mariadbd --no-defaults --user=mysql --datadir=/data --bind-address=0.0.0.0 --skip-name-resolve \
  --socket=/run/mysqld/mysqld.sock --innodb-buffer-pool-size=64M --innodb-snapshot-isolation=OFF --init-file=/tmp/init.sql
